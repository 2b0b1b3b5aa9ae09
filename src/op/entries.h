/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that programs add to a runtime: functions of its registry that give the row's address. Operators are "op.<name>",
 * templates of the tuner "tune.template.<name>". */
#ifndef GPUC_OP_ENTRIES_H
#define GPUC_OP_ENTRIES_H

#include <gpuc/op.h>
#include <gpuc/runtime.h>

#define GPUC_OP_ENTRY_NAME "it has letters, digits, '_' and '.', and begins with a letter or '_'"
/* Whether a row, or an attribute of one, may have the name. */
bool gpuc_op_entry_is_name(const char *name);
/* An error for attributes without a kind or a possible name, and for two of one name; attrs may be NULL. */
GPUC_NODISCARD gpuc_status gpuc_op_entry_check_attrs(const gpuc_attr_spec *attrs);

/* Adds the row, which lives as long as the runtime, under a name that is free. */
gpuc_status gpuc_op_entry_add(gpuc_runtime *rt, const char *full, const void *row);
/* The row of that name; NULL: there is none. A function of that name may be of others, who use it for something else. */
const void *gpuc_op_entry_find(gpuc_runtime *rt, const char *full);
/* The next row whose name begins so; *at, 0 at first, counts names of the registry. NULL: there are no more. */
const void *gpuc_op_entry_next(gpuc_runtime *rt, const char *prefix, size_t *at);

#endif
