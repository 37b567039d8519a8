/*
 * html.c - the report of a run as one HTML page, part by part: no network, no script,
 * light and dark, narrow and printed. The result is embedded in it as JSON.
 */
#include "loader/base/error.h"
#include "reports/common/form_style.h"
#include "reports/html/html_part.h"
#include "reports/json/json.h"

#include <errno.h>

static int fill_result(FILE *out, const void *profile, struct error *err)
{
	return json_result_write(profile, out, err);
}

int html_write(const struct profile *profile, const struct form_style *style, FILE *out,
	       struct error *err)
{
	bool failed = false, by_hand = false;
	struct html html = {profile, out, &failed, &by_hand};
	const struct html_end end = {profile->version, "result",
				     "dsa report --format=json", fill_result, profile};
	int result;

	(void)style;
	html_begin(out, profile->dataset == NULL ? "report" : profile->dataset);
	html_head(&html);
	fputs("<main>\n", out);
	html_shares(&html);
	html_limit(&html);
	html_parts(&html);
	html_jobs(&html);
	html_whatif(&html);
	html_plots(&html);
	html_own(&html);
	html_gpu(&html);
	html_ranks(&html);
	html_proof(&html);
	html_certificates(&html);
	html_skips(&html);
	html_setting(&html);
	html_repeat(&html);
	result = html_end(out, &end, err);
	if (result == 0 && failed)
		result = error_set(err, ENOMEM, "no memory for the report");
	return result;
}
