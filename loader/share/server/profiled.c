/* profiled.c - a server that takes part in a dsa run: its windows, in a thread. */
#include "loader/base/trace.h"
#include "loader/driver.h"
#include "loader/prep.h"
#include "loader/share/server/server_state.h"
#include "loader/windows.h"

#include <errno.h>

/* Publishes again what is there, as far as there is room. */
static void profiled_repeat(void *context, uint32_t turn)
{
	struct share_server *server = context;
	struct bcast_ring *ring = server->stream.ring;

	share_stream_lock(&server->stream);
	bcast_repeat(ring, bcast_places(ring), turn);
	share_stream_unlock(&server->stream);
}

static void *profiled_main(void *context)
{
	struct share_server *server = context;

	driver_serve(windows_driver(server->profiled.windows));
	server->profiled.on = false;
	if (server->session.trace->stop)
		reactor_stop(&server->reactor);
	else
		reactor_notify(&server->reactor); /* it may leave now */
	return NULL;
}

bool profiled_is(const struct share_server *server)
{
	return server->session.trace != NULL && server->session.trace->in_step != 0;
}

bool profiled_over(const struct share_server *server)
{
	return profiled_is(server) && server->session.trace->stop;
}

int profiled_open(struct share_server *server, struct error *err)
{
	const struct windows_parts parts = {
		.trace = server->session.trace,
		.process = server->session.process,
		.options = &server->options,
		.source = server->parts.source,
		.pipeline = server->stream.pipeline,
		.cache = server->parts.cache,
		.throttle = server->parts.throttle,
		.shape = &server->profiled.shape,
		.repeat = profiled_repeat,
		.context = server,
	};
	int result;

	if (!profiled_is(server))
		return 0;
	if (server->config.takeover) /* it measures the pipeline that is there now */
		return error_set(err, EINVAL,
				 "a loader that dsa run measures in step with its jobs "
				 "cannot take over: leave out takeover");
	server->profiled.shape = (struct ring_shape){
		.slots = parts.options->prefetch,
		.batch = parts.options->batch,
		.sample_bytes = prep_sample_bytes(server->parts.prep),
	};
	result = windows_open(&parts, &server->profiled.windows, err);
	if (server->profiled.windows == NULL)
		return result;
	server->profiled.on = true;
	result = pthread_create(&server->profiled.thread, NULL, profiled_main, server);
	if (result == 0)
		return 0;
	server->profiled.on = false;
	windows_close(server->profiled.windows);
	server->profiled.windows = NULL;
	return error_sys(err, result, "cannot take part in the run");
}

void profiled_close(struct share_server *server)
{
	if (server->profiled.windows == NULL)
		return;
	driver_end(windows_driver(server->profiled.windows));
	pthread_join(server->profiled.thread, NULL);
	windows_close(server->profiled.windows);
	server->profiled.windows = NULL;
}
