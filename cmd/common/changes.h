/* changes.h - the options of a change, each a value, a list or a range: a struct sweep. */
#ifndef DSA_CHANGES_H
#define DSA_CHANGES_H

#include "cmd/common/argument.h"

extern const struct argument changes_arguments[];

#endif
