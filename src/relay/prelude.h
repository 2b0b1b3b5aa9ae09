/* SPDX-License-Identifier: Apache-2.0 */
/* What a text may import (prelude/). */
#ifndef GPUC_RELAY_PRELUDE_H
#define GPUC_RELAY_PRELUDE_H

#include "relay/relay.h"

/* Lists, options, trees. */
extern const char *const gpuc_relay_prelude_text;
/* Tensor arrays of an element type, and those of tensors of one type, whose extents are numbers or `?`: texts in the
 * module's context, which need the prelude. */
const char *gpuc_relay_prelude_tensors(gpuc_rmodule *m, gpuc_dtype dtype);
const char *gpuc_relay_prelude_static_tensors(gpuc_rmodule *m, const gpuc_tensor_type *type);

#endif
