/* gate_text.c - the verdict of a gate for a terminal. */
#include "reports/common/escape.h"
#include "reports/gate/gate_part.h"
#include "reports/terminal/box.h"

#include <errno.h>
#include <string.h>

enum { NAME = 25 };

/* "X regression: fetch_stall is 18.2 points worse" */
static void gate_text_head(struct box *box, const struct gate_verdict *verdict)
{
	const char *word = gate_outcome_name(verdict->outcome);

	fprintf(box->out, "\n%*s%s%s %s%s: ", BOX_INDENT, "", box_ink(box, BOX_BOLD),
		gate_part_outcome_sign(verdict->outcome, box->style->ascii), word,
		box_ink(box, BOX_PLAIN));
	/* The first line is shorter by what stands there already. */
	box_wrap(box, verdict->why, BOX_INDENT + 4 + strlen(word));
	fputs("\n\n", box->out);
}

static void gate_text_lines(struct box *box, const char *label, char *const *texts,
			    size_t count)
{
	char shown[GATE_PART_TEXT];

	for (size_t i = 0; i < count && i < GATE_PART_LINES; i++)
		box_line(box, i == 0 ? label : "", "%s",
			 escape_to(shown, sizeof(shown), texts[i]));
	if (count > GATE_PART_LINES)
		box_line(box, "", "and %zu more", count - GATE_PART_LINES);
	if (count > 0)
		putc('\n', box->out);
}

static void gate_text_name(const struct box *box, const char *text)
{
	const char *cut;

	text = escape_tail(text, NAME, &cut);
	fputs(cut, box->out);
	escape_plain(box->out, text);
	fprintf(box->out, "%*s", (int)(NAME - strlen(cut) - escape_width(text)), "");
}

/* An exact count as it was: there is nothing more to say. */
static bool is_plain(const struct gate_finding *finding)
{
	return finding->tier == GATE_EXACT && finding->status == GATE_PASSED &&
	       finding->now == finding->base;
}

static void gate_text_row(struct box *box, const struct gate_finding *finding)
{
	const char *sign = gate_part_status_sign(finding->status, box->style->ascii);
	bool bold = finding->status == GATE_REGRESSED;
	struct gate_cells cells;
	char more[GATE_WHY + sizeof(cells.range) + 8];

	gate_part_cells(finding, &cells);
	fprintf(box->out, "%*s%s%s ", BOX_INDENT, "",
		bold ? box_ink(box, BOX_BOLD) : "", sign);
	gate_text_name(box, finding->name);
	fprintf(box->out, " %9s %9s %9s %6s  %s%s\n", cells.base, cells.now,
		cells.change, cells.limit, gate_part_status(finding->status),
		bold ? box_ink(box, BOX_PLAIN) : "");
	if (finding->status == GATE_UNDECIDED) /* the reason says it in words */
		*cells.range = '\0';
	snprintf(more, sizeof(more), "%s%s%s", cells.range,
		 *cells.range != '\0' && *finding->why != '\0' ? ": " : "",
		 finding->why);
	if (*more == '\0' || is_plain(finding))
		return;
	fprintf(box->out, "%*s%s", BOX_INDENT + 4, "", box_ink(box, BOX_DIM));
	box_wrap(box, more, BOX_INDENT + 4);
	fprintf(box->out, "%s\n", box_ink(box, BOX_PLAIN));
}

static void gate_text_table(struct box *box, const struct gate_finding *const *ranked,
			    size_t count)
{
	if (count == 0)
		return;
	fprintf(box->out, "%*s  %s%-*s %9s %9s %9s %6s  %s%s\n", BOX_INDENT, "",
		box_ink(box, BOX_DIM), NAME, "metric", "before", "now", "change",
		"limit", "verdict", box_ink(box, BOX_PLAIN));
	for (size_t i = 0; i < count; i++)
		gate_text_row(box, ranked[i]);
	putc('\n', box->out);
}

static void gate_text_write_box(struct box *box, const struct gate_report *report,
				const struct gate_finding *const *ranked)
{
	const struct gate_verdict *verdict = report->verdict;
	size_t count;
	char *const *causes = gate_part_causes(verdict, &count);

	gate_text_head(box, verdict);
	gate_text_lines(box, "not equal", verdict->mismatches, verdict->mismatch_count);
	gate_text_lines(box, "causes", causes, count);
	gate_text_lines(box, "settings", verdict->settings, verdict->setting_count);
	gate_text_table(box, ranked, verdict->count);
	box_sentence(box, "to do", gate_part_advice(verdict));
	box_sentence(box, "can see", gate_part_seen(verdict));
	box_sentence(box, "based on", gate_part_basis(verdict, report->seconds));
	if (verdict->busy != NULL)
		box_line(box, "busy", "%s", verdict->busy);
	if (report->name != NULL)
		box_line(box, "against", "%s", report->name);
	box_command(box, "rerun", report->command);
	if (report->link != NULL)
		box_line(box, "report", "%s", report->link);
	putc('\n', box->out);
}

int gate_text_write(const struct gate_report *report,
		    const struct gate_finding *const *ranked,
		    const struct form_style *style, FILE *out, struct error *err)
{
	struct box box;

	if (box_open(&box, style) < 0)
		return -ENOMEM;
	gate_text_write_box(&box, report, ranked);
	return box_close(&box, out, err);
}
