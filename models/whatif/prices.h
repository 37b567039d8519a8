/*
 * prices.h - a price list as text: dsa-prices(5).
 *
 *	currency = USD
 *	date = 2026-11-20
 *	core_hour = 0.0378
 */
#ifndef DSA_PRICES_H
#define DSA_PRICES_H

#include "models/predict/cost.h"

struct error;

/*
 * Reads a list. Sections are headings and mean nothing. What it leaves out is NAN
 * or ""; accelerators 1. 0; -EINVAL or -EBADMSG when it is not one, with the line in
 * err; -ENOMEM. On failure *prices is undefined.
 */
int prices_read(const char *text, struct prices *prices, struct error *err);

#endif
