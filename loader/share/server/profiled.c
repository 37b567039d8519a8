/* profiled.c - a server that takes part in a dsa run: its windows, in a thread. */
#include "loader/base/trace.h"
#include "loader/driver.h"
#include "loader/prep.h"
#include "loader/share/server/server_state.h"

#include <errno.h>
#include <unistd.h>

static void repeat_now(void *context, const struct pipeline_point *next)
{
	struct share_server *server = context;

	(void)next;
	bcast_repeat(server->ring, bcast_places(server->ring), server->repeated_turn);
}

/* Publishes again what is there, as far as there is room. */
static void profiled_repeat(void *context, uint32_t turn)
{
	struct share_server *server = context;

	server->repeated_turn = turn;
	server_locked(server, repeat_now, server);
}

static void *profiled_main(void *context)
{
	struct share_server *server = context;
	uint64_t one = 1;

	driver_serve(server->driver);
	server->profiling = false;
	if (server->session.trace->stop)
		share_server_stop(server);
	else
		(void)!write(server->notify, &one, sizeof(one)); /* it may leave now */
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
	const struct driver_parts parts = {
		.trace = server->session.trace,
		.process = server->session.process,
		.options = &server->options,
		.source = server->parts.source,
		.pipeline = server->pipeline,
		.cache = server->parts.cache,
		.throttle = server->parts.throttle,
		.shape = &server->shape,
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
	server->shape = (struct ring_shape){
		.slots = parts.options->prefetch,
		.batch = parts.options->batch,
		.sample_bytes = prep_sample_bytes(server->parts.prep),
	};
	server->driver = driver_open(&parts, err);
	if (server->driver == NULL)
		return -err->code;
	server->profiling = true;
	result = pthread_create(&server->profiled_thread, NULL, profiled_main, server);
	if (result == 0)
		return 0;
	server->profiling = false;
	driver_close(server->driver);
	server->driver = NULL;
	return error_sys(err, result, "cannot take part in the run");
}

void profiled_close(struct share_server *server)
{
	if (server->driver == NULL)
		return;
	driver_end(server->driver);
	pthread_join(server->profiled_thread, NULL);
	driver_close(server->driver);
	server->driver = NULL;
}
