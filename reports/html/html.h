/*
 * html.h - the report as one HTML file: no network, no script, light and dark, narrow
 * and printed. The result is embedded in it as JSON.
 */
#ifndef DSA_HTML_H
#define DSA_HTML_H

#include "reports/common/form_style.h"

form_write html_write;

#endif
