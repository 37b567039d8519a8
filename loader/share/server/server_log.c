/* server_log.c - what a server says. */
#include "loader/share/server/server_state.h"

#include <stdarg.h>
#include <stdio.h>

void server_log(const struct share_server *server, const char *format, ...)
{
	char line[512];
	va_list arguments;

	if (server->config.log == NULL)
		return;
	va_start(arguments, format);
	vsnprintf(line, sizeof(line), format, arguments);
	va_end(arguments);
	server->config.log(server->config.context, line);
}
