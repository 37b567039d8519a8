/* signals.h - what a command does when it is interrupted. */
#ifndef DSA_SIGNALS_H
#define DSA_SIGNALS_H

/* Calls a handler, with flags as sigaction(2) has them; but a signal that was ignored when
 * the command began, as by nohup(1), stays ignored. */
void signals_take(int number, void (*handler)(int number), int flags);

#endif
