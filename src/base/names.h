/* SPDX-License-Identifier: Apache-2.0 */
/* Names that were renamed (names.def): the old ones stay aliases. */
#ifndef GPUC_BASE_NAMES_H
#define GPUC_BASE_NAMES_H

#include "base/buf.h"

/* The present name for an old one; any other name is returned as it is. `of` says what is named, as in
 * names.def. */
const char *gpuc_names_now(const char *of, const char *name);
/* The other direction: what was renamed has its old name in the text that tuning logs know a function by. */
const char *gpuc_names_first(const char *of, const char *name);
/* Whether that text leaves out an attribute with that value: the operator got it later, and is what it was. */
bool gpuc_names_is_new(const char *attr, const char *value);
/* Writes the text of a target with the present names of its attributes. */
void gpuc_names_target(gpuc_buf *out, const char *text);

#endif
