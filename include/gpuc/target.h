/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: what code is compiled for, a kind and attributes. Equal targets give equal packages. */
#ifndef GPUC_TARGET_H
#define GPUC_TARGET_H

#include <gpuc/ctx.h>
#include <gpuc/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_target gpuc_target;

/* Forms: "vulkan", "vulkan -max_num_threads=1024 -float16=1", "vulkan/llvmpipe -texel=0" (preset, then
 * overrides), {"kind":"vulkan","max_num_threads":1024} (JSON object), "c -mcpu=native -cc=clang".
 * "-from_device=N" is replaced by the limits of device N, which the caller has opened and passes; with device
 * NULL it is an error. Raises; for unknown kinds, presets and attributes the message names the nearest. */
GPUC_API const gpuc_target *gpuc_target_parse(gpuc_ctx *ctx, const char *text, gpuc_device *device);
/* Whether text has -from_device, and of which kind and number; for callers, who must open it first. */
GPUC_API bool gpuc_target_wants_device(const char *text, gpuc_device_type *type, int *index);
/* The string form: kind or preset, and all that differs from it. Parsing it gives the same target. */
GPUC_API const char *gpuc_target_text(gpuc_ctx *ctx, const gpuc_target *t);
/* The same as a JSON object. */
GPUC_API const char *gpuc_target_json(gpuc_ctx *ctx, const gpuc_target *t);
GPUC_API const char *gpuc_target_kind(const gpuc_target *t); /* "vulkan" */
/* The kind of device that its code runs on. */
GPUC_API gpuc_device_type gpuc_target_device_type(const gpuc_target *t);
GPUC_API int64_t gpuc_target_attr(const gpuc_target *t, const char *name); /* an int attribute; 0 if none */
/* Whether code for the target can compute in a type: it has the type, or lowering replaces it by another. */
GPUC_API bool gpuc_target_computes(const gpuc_target *t, gpuc_dtype dtype);

/* Kinds, whose names are targets by themselves; and the int attributes that all kinds have, in the order in
 * which texts print them. A number that is out of range has no name, and the default 0. */
GPUC_API int gpuc_target_num_kinds(void);
GPUC_API const char *gpuc_target_kind_name(int kind); /* "vulkan"; NULL where there is none */
/* The number of int attributes. */
GPUC_API int gpuc_target_num_attrs(void);
GPUC_API const char *gpuc_target_attr_name(int i); /* "max_num_threads"; NULL where there is none */
/* The meaning of the attribute, in a phrase; NULL for a number out of range. */
GPUC_API const char *gpuc_target_attr_about(int i);
GPUC_API int64_t
gpuc_target_attr_default(int i, int kind); /* of a bare kind, before attributes of a machine are filled in */
/* The number of kinds and presets that gpuc_target_parse knows. */
GPUC_API size_t gpuc_target_preset_count(void);
GPUC_API const char *gpuc_target_preset_name(size_t i); /* "vulkan", "vulkan/llvmpipe", ... */
/* The purpose of the preset, in a phrase. */
GPUC_API const char *gpuc_target_preset_about(size_t i);

#ifdef __cplusplus
}
#endif
#endif
