/* status_http.c - what a shared loader answers to HTTP, as to a scraper of metrics. */
#include "loader/share/wire/status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int status_http_nothing(const struct share_figures *figures, char **text)
{
	(void)figures;
	*text = strdup("Here are /metrics and /status.\n");
	return *text != NULL ? 0 : -ENOMEM;
}

static const struct page {
	const char *path, *status, *type;
	int (*write)(const struct share_figures *figures, char **text);
} pages[] = {
	{"/metrics", "200 OK",
	 "application/openmetrics-text; version=1.0.0; charset=utf-8",
	 share_status_metrics},
	{"/status", "200 OK", "application/json", share_status_json},
	{NULL, "404 Not Found", "text/plain", status_http_nothing},
};

static const struct page *status_http_page_of(const char *request)
{
	const char *path = request + strcspn(request, " ");
	const struct page *page = pages;
	size_t length;

	path += *path == ' ';
	length = strcspn(path, " ?\r\n");
	while (page->path != NULL &&
	       (strlen(page->path) != length || memcmp(page->path, path, length) != 0))
		page++;
	return page;
}

int share_status_http(const struct share_figures *figures, const char *request,
		      char **answer, size_t *bytes)
{
	const struct page *page = status_http_page_of(request);
	char *body, head[256];
	size_t length;
	int rc = page->write(figures, &body);

	if (rc < 0)
		return rc;
	length = strlen(body);
	rc = snprintf(head, sizeof(head),
		      "HTTP/1.0 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
		      "Connection: close\r\n\r\n",
		      page->status, page->type, length);
	*bytes = (size_t)rc + length;
	*answer = malloc(*bytes + 1);
	if (*answer != NULL) {
		memcpy(*answer, head, (size_t)rc);
		memcpy(*answer + rc, body, length + 1);
	}
	free(body);
	return *answer != NULL ? 0 : -ENOMEM;
}
