/* differences.c - adds differences to a list, each as a sentence, and sorts it. */
#include "models/compare/differences.h"
#include "models/compare/difference_kinds.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct difference *difference_add(struct differences *all, enum difference_rank rank)
{
	struct difference *difference = &all->list[all->count];

	if (all->count == DIFFERENCES_MOST)
		return NULL;
	all->count++;
	*difference = (struct difference){.rank = rank};
	return difference;
}

void differences_append(char *text, size_t size, const char *format, ...)
{
	size_t used = strlen(text), end = size - sizeof("...");
	va_list args;
	int length;

	if (used > end)
		return;
	va_start(args, format);
	length = vsnprintf(text + used, size - used, format, args);
	va_end(args);
	if (length < 0 || (size_t)length < size - used)
		return;
	while (end > used && ((unsigned char)text[end] & 0xc0) == 0x80)
		end--;
	strcpy(text + end, "...");
}

static enum difference_way way_of(int more, bool grew)
{
	if (more == EITHER || more == DIFFERENCE_NOTHING)
		return (enum difference_way)more;
	return (more == SLOW) == grew ? DIFFERENCE_SLOWER : DIFFERENCE_FASTER;
}

double difference_size(double base, double now)
{
	return base == now ? 0 : fabs(log(now / base));
}

struct difference *difference_number(struct differences *all,
				     const struct difference_kind *kind, double base,
				     double now)
{
	struct difference *difference;
	struct amount_text_pair pair;

	if (isnan(base) || isnan(now) || !(difference_size(base, now) > kind->least))
		return NULL;
	difference = difference_add(all, kind->rank);
	if (difference == NULL)
		return NULL;
	for (int i = 0; i < STAGES; i++)
		difference->way[i] = way_of(kind->more[i], now > base);
	difference->size = difference_size(base, now);
	amount_text_pair(&pair, kind->unit, base, now);
	differences_append(difference->text, sizeof(difference->text),
			   "%s %s from %s to %s", kind->name,
			   now > base ? "grew" : "fell", pair.from, pair.to);
	return difference;
}

double difference_known(uint64_t count)
{
	return count == UNKNOWN ? NAN : (double)count;
}

struct difference *difference_words(struct differences *all,
				    const struct difference_words *kind,
				    const char *base, const char *now)
{
	struct difference *difference;

	if (base == NULL || now == NULL || strcmp(base, now) == 0)
		return NULL;
	difference = difference_add(all, kind->rank);
	if (difference == NULL)
		return NULL;
	for (int i = 0; i < STAGES; i++)
		if (kind->stage[i])
			difference->way[i] = DIFFERENCE_EITHER;
	differences_append(difference->text, sizeof(difference->text),
			   "%s changed from %s to %s", kind->name, base, now);
	return difference;
}

bool differences_are_clear(const struct interval *base, const struct interval *now,
			   double least)
{
	double high_a = fmax(base->value, base->high),
	       low_a = fmin(base->value, base->low);
	double high_b = fmax(now->value, now->high), low_b = fmin(now->value, now->low);

	if (!isfinite(base->value) || !isfinite(now->value) ||
	    fabs(now->value - base->value) < least)
		return false;
	return high_a < low_b || high_b < low_a;
}

static int by_rank(const void *left, const void *right)
{
	const struct difference *a = left, *b = right;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	if (a->size != b->size)
		return a->size > b->size ? -1 : 1;
	return strcmp(a->text, b->text);
}

void differences_sort(struct differences *differences)
{
	qsort(differences->list, differences->count, sizeof(differences->list[0]),
	      by_rank);
}

void differences_find(const struct profile *base, const struct profile *now,
		      struct differences *differences)
{
	differences->count = 0;
	differences_of_data(differences, base, now);
	differences_of_settings(differences, base, now);
	differences_of_machines(differences, base, now);
	differences_sort(differences);
}
