/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the kinds of targets. */
#include "abi/kernel.h"
#include "target/private.h"

const gpuc_target_kind_info gpuc_target_kinds[GPUC_TARGET_KIND_COUNT] = {
#define GPUC_TARGET_KIND(id, text, generator, type, what, ...)                                               \
    [GPUC_TARGET_##id] = {.name = text, .device = type, .language = {__VA_ARGS__}},
#include "target/kinds.def"
#undef GPUC_TARGET_KIND
};
