/* serve_status.h - the status of a shared loader (its JSON) as text for a person. */
#ifndef DSA_SERVE_STATUS_H
#define DSA_SERVE_STATUS_H

#include <stdio.h>

struct error;

/* How to use it and what is served, when it begins. 0, or -EBADMSG: that is no such JSON. */
int serve_status_begin(FILE *to, const char *json, struct error *err);

/* Figures of all, then a line for each job. */
int serve_status_table(FILE *to, const char *json, struct error *err);

/* One line without its end: rate, jobs, who is behind. Nothing when json is none. */
void serve_status_line(FILE *to, const char *json);

#endif
