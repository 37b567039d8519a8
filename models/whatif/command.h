/* command.h - a change as the options of a dsa command line. */
#ifndef DSA_COMMAND_H
#define DSA_COMMAND_H

struct profile_change;

/*
 * Sets *command to "dsa whatif RUN --cores 2 --cache 50% --verify", freeing what was
 * there; `run` is quoted where a shell would read it otherwise. 0 or -ENOMEM.
 */
int command_verify(const struct profile_change *change, const char *run,
		   char **command);

#endif
