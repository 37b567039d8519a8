/* signals.c - handlers of signals. */
#include "cmd/common/signals.h"

#include <signal.h>
#include <stddef.h>

void signals_take(int number, void (*handler)(int number), int flags)
{
	const struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	struct sigaction before;

	if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}
