/* gate_verdict.c - the lists of a verdict: findings, and lines of text. */
#include "models/gate/gate.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gate_lines_add(char ***lines, size_t *count, const char *format, ...)
{
	char **grown = realloc(*lines, (*count + 2) * sizeof(*grown));
	va_list args;
	int length;

	if (grown == NULL)
		return -ENOMEM;
	*lines = grown;
	va_start(args, format);
	length = vasprintf(&grown[*count], format, args);
	va_end(args);
	if (length < 0)
		grown[*count] = NULL;
	else
		grown[++*count] = NULL;
	return length < 0 ? -ENOMEM : 0;
}

void gate_verdict_free(struct gate_verdict *verdict)
{
	for (size_t i = 0; i < verdict->count; i++) {
		free(verdict->findings[i].name);
		free(verdict->findings[i].unit);
	}
	free(verdict->findings);
	profile_free_texts(verdict->causes);
	profile_free_texts(verdict->mismatches);
	profile_free_texts(verdict->settings);
	free(verdict->busy);
	*verdict = (struct gate_verdict){.outcome = GATE_INCONCLUSIVE};
}

struct gate_finding *gate_verdict_add(struct gate_verdict *verdict)
{
	size_t count = verdict->count;
	struct gate_finding *findings = verdict->findings;

	if ((count & (count - 1)) == 0) { /* room for as many again */
		findings = realloc(findings,
				   (count > 0 ? 2 * count : 1) * sizeof(*findings));
		if (findings == NULL)
			return NULL;
		verdict->findings = findings;
	}
	verdict->count++;
	findings[count] = (struct gate_finding){
		.status = GATE_MISSING,
		.base = NAN,
		.now = NAN,
		.worse = INTERVAL_UNKNOWN,
		.p = NAN,
		.limit = NAN,
		.floor = NAN,
		.detectable = NAN,
	};
	return &findings[count];
}

struct gate_finding *gate_verdict_find(const struct gate_verdict *verdict,
				       const char *name)
{
	for (size_t i = 0; i < verdict->count; i++)
		if (strcmp(verdict->findings[i].name, name) == 0)
			return &verdict->findings[i];
	return NULL;
}

const struct gate_finding *gate_verdict_first(const struct gate_verdict *verdict,
					      enum gate_status status)
{
	for (size_t i = 0; i < verdict->count; i++)
		if (verdict->findings[i].status == status)
			return &verdict->findings[i];
	return NULL;
}
