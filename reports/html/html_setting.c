/* html_setting.c - what was measured and where: configuration, machine, counters. */
#include "reports/common/format.h"
#include "reports/html/html_part.h"

#include <stdlib.h>
#include <string.h>

static void begin_facts(FILE *out, const char *title)
{
	fprintf(out,
		"<div class=\"group\">\n<h3>%s</h3>\n<section class=\"scroll "
		"facts-table\" tabindex=\"0\" aria-label=\"%s\">\n<table>\n<tbody>\n",
		title, title);
}

static void end_facts(FILE *out)
{
	html_table_end(out);
	fputs("</div>\n", out);
}

static void html_setting_count(FILE *out, const char *name, uint64_t number)
{
	char text[FORMAT_SIZE];

	if (number != UNKNOWN)
		html_pair(out, name, format_count(text, number));
}

static void html_setting_bytes(FILE *out, const char *name, uint64_t number)
{
	char text[FORMAT_SIZE];

	if (number != UNKNOWN)
		html_pair(out, name, format_bytes(text, (double)number));
}

static void html_setting_data_set(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	begin_facts(html->out, "Data set");
	html_pair(html->out, "Path", profile->dataset);
	html_pair(html->out, "Source", profile->source);
	html_setting_count(html->out, "Samples", profile->dataset_samples);
	html_setting_bytes(html->out, "Bytes", profile->dataset_bytes);
	html_setting_count(html->out, "Classes", profile->classes);
	html_pair(html->out, "Digest", profile->digest);
	html_setting_count(html->out, "Samples from the cache on disk",
			   profile->disk_cache.hits);
	html_setting_count(html->out, "Written to it", profile->disk_cache.written);
	html_setting_count(html->out, "Torn or foreign files in it",
			   profile->disk_cache.dropped);
	html_setting_count(html->out, "Not written to it, as the disk was slow or full",
			   profile->disk_cache.refused);
	html_setting_count(html->out, "Objects asked for", profile->requests.gets);
	html_setting_count(html->out, "Requests sent again", profile->requests.retries);
	if (profile->requests.lost != UNKNOWN && profile->requests.lost > 0)
		html_setting_count(html->out, "Samples lost with a server",
				   profile->requests.lost);
	html_setting_count(html->out, "Requests beside late ones",
			   profile->requests.hedges);
	html_setting_count(html->out, "Requests to list", profile->requests.listing);
	html_pair(html->out, "Listing older than the run by",
		  isfinite(profile->requests.listing_age_s)
			  ? format_seconds(text, profile->requests.listing_age_s)
			  : NULL);
	html_setting_bytes(html->out, "Bytes that came", profile->requests.bytes);
	html_setting_count(html->out, "Objects that might be asked for",
			   profile->requests.most);
	html_pair(html->out, "Cost of all requests",
		  isfinite(profile->requests.cost)
			  ? format_cost(text, profile->requests.cost)
			  : NULL);
	end_facts(html->out);
}

static void html_setting_configuration(const struct html *html)
{
	const struct profile *profile = html->profile;
	char *shuffle = format_string(format_shuffle, profile);
	FILE *out = html->out;

	begin_facts(out, "Loader");
	if (profile->loaders != UNKNOWN && profile->loaders > 1)
		html_setting_count(out, "Loaders of the program", profile->loaders);
	html_setting_count(out, "Batch", profile->batch);
	html_setting_count(out, "Workers", profile->workers);
	html_setting_count(out, "Cores", profile->cores);
	html_setting_count(out, "Reads in flight", profile->fetch_depth);
	html_setting_count(out, "Batches ahead", profile->prefetch);
	html_pair(out, "Features of records", profile->features);
	html_pair(out, "Shuffle", shuffle != NULL && *shuffle != '\0' ? shuffle : NULL);
	html_pair(out, "Fetch engine", profile_word(profile_engines, &profile->engine));
	html_pair(out, "Chosen because", profile->engine_reason);
	html_pair(out, "Cache", profile_word(profile_caches, &profile->cache));
	html_setting_bytes(out, "Cache capacity", profile->cache_capacity_bytes);
	html_pair(out, "Preparation", profile->prep);
	html_pair(out, "Output", profile->output);
	html_setting_bytes(out, "Prepared sample", profile->sample_bytes);
	if (profile_loader(profile) == LOADER_DSA)
		html_pair(out, "Huge pages", profile->huge_pages ? "yes" : "no");
	html_pair(out, "Device", profile->device);
	html_pair(out, "Transfer to it", profile->transfer);
	html_setting_bytes(out, "Copied sample", profile->device_sample_bytes);
	html_pair(out, "Copied from memory that is", profile->device_memory);
	html_pair(out, "Storage is memory", profile->storage_is_memory ? "yes" : NULL);
	free(shuffle);
	end_facts(out);
}

static void run_facts(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	begin_facts(html->out, "Run");
	html_pair(html->out, "Protocol",
		  profile_word(profile_protocols, &profile->protocol));
	html_pair(html->out, "Took",
		  isfinite(profile->wall_s) ? format_seconds(text, profile->wall_s)
					    : NULL);
	html_setting_count(html->out, "Balanced blocks", profile->blocks);
	html_setting_count(html->out, "Seed", profile->seed);
	if (profile->target_status >= 0)
		html_setting_count(html->out, "Exit status of the program",
				   (uint64_t)profile->target_status);
	end_facts(html->out);
}

/* "cpu_cores" as "CPU cores". */
static void fact_name(const struct html *html, const char *key)
{
	char *name = strdup(key), *at;

	*html->failed |= name == NULL;
	if (name != NULL && strncmp(name, "cpu", 3) == 0)
		memcpy(name, "CPU", 3);
	while (name != NULL && (at = strchr(name, '_')) != NULL)
		*at = ' ';
	html_text(html->out, name);
	free(name);
}

static void html_setting_machine(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (profile->fact_count == 0)
		return;
	begin_facts(html->out, "Machine");
	for (size_t i = 0; i < profile->fact_count; i++) {
		fputs("<tr><th scope=\"row\">", html->out);
		fact_name(html, profile->environment[i].key);
		fputs("</th>", html->out);
		html_cell(html->out, profile->environment[i].value);
		fputs("</tr>\n", html->out);
	}
	end_facts(html->out);
}

static void html_setting_counters(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	if (profile->counter_count == 0)
		return;
	fputs("<details><summary>Counters of every stage</summary>\n", html->out);
	html_table(html->out, "Per sample, and by which way each was counted",
		   "Stage|Counter|Per sample#|Counted by|Of the time#");
	for (size_t i = 0; i < profile->counter_count; i++) {
		const struct profile_counter *counter = &profile->counters[i];

		fputs("<tr>", html->out);
		html_cell(html->out, counter->stage);
		html_cell(html->out, counter->name);
		if (isfinite(counter->per_sample))
			snprintf(text, sizeof(text), "%.4g", counter->per_sample);
		else
			snprintf(text, sizeof(text), "n/a");
		html_number(html->out, text);
		html_cell(html->out, counter->rung);
		html_number(html->out, format_percent(text, counter->running));
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
	fputs("</details>\n", html->out);
}

/* Of a loader of the program's own, which workers feed, it trains. */
static const char *html_setting_role(const struct profile *profile, const char *role)
{
	return role != NULL && strcmp(role, "driver") == 0 &&
			       profile_loader(profile) != LOADER_DSA
		       ? "trainer"
		       : role;
}

static void html_setting_processes(const struct html *html)
{
	const struct profile *profile = html->profile;
	char text[FORMAT_SIZE];

	if (profile->process_count == 0)
		return;
	fputs("<details><summary>Processes</summary>\n", html->out);
	html_table(html->out, "Processes of the program that loaded data",
		   "Process#|Role|Threads#|CPU#|From storage#|Batches made#|Samples#");
	for (size_t i = 0; i < profile->process_count; i++) {
		const struct profile_process *process = &profile->processes[i];

		if (process->pid == UNKNOWN)
			fputs("<tr><td class=\"n\">n/a</td>", html->out);
		else
			fprintf(html->out, "<tr><td class=\"n\">%llu</td>",
				(unsigned long long)process->pid);
		html_cell(html->out, html_setting_role(profile, process->role));
		html_number(html->out, format_count(text, process->threads));
		html_number(html->out, format_seconds(text, process->cpu_s));
		html_number(html->out,
			    process->read_bytes == UNKNOWN
				    ? "n/a"
				    : format_bytes(text, (double)process->read_bytes));
		html_number(html->out, format_count(text, process->batches));
		html_number(html->out, format_count(text, process->samples));
		fputs("</tr>\n", html->out);
	}
	html_table_end(html->out);
	fputs("</details>\n", html->out);
}

void html_setting(const struct html *html)
{
	html_section(html->out, "setting", "What was measured, and where");
	fputs("<div class=\"groups\">\n", html->out);
	if (html->profile->dataset != NULL) {
		html_setting_data_set(html);
		html_setting_configuration(html);
	}
	run_facts(html);
	html_setting_machine(html);
	fputs("</div>\n", html->out);
	html_setting_counters(html);
	html_setting_processes(html);
	fputs("</section>\n", html->out);
}

void html_repeat(const struct html *html)
{
	const struct profile *profile = html->profile;

	if (profile->repeat == NULL)
		return;
	html_section(html->out, "repeat", "Measure this again");
	fputs("<pre><code>", html->out);
	html_text(html->out, profile->repeat);
	fputs("</code></pre>\n</section>\n", html->out);
}
