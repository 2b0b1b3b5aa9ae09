/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes, and how memory is laid out. */
#ifndef GPUC_ABI_SCOPE_H
#define GPUC_ABI_SCOPE_H

#include <gpuc/scope.h>

/* Every planned slot starts at a multiple of this, and its size is rounded up to the second, so
 * that a 16-byte vector read of the last element stays inside. */
#define GPUC_SLOT_ALIGN 256
#define GPUC_SLOT_ROUND 16
#define GPUC_WEIGHT_ALIGN 4096 /* of the weights section in a package file */

#endif
