/* SPDX-License-Identifier: Apache-2.0 */
/* Targets: what code is compiled for, a kind and attributes. Equal targets give equal packages.
 *
 * A program adds kinds and tags to a runtime. A context finds them once it was told of the runtime
 * (gpuc_ctx_set_runtime); without one it finds those that are built in. What is said here of a context of NULL
 * holds for a context without a runtime. */
#ifndef GPUC_TARGET_H
#define GPUC_TARGET_H

#include <gpuc/ctx.h>
#include <gpuc/device.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gpuc_target gpuc_target;

/* ---- Texts ---- */

/* Forms: "vulkan", "vulkan -max_num_threads=1024 -float16", "vulkan/llvmpipe -texel=0" (a tag, then overrides),
 * {"kind":"vulkan","max_num_threads":1024} (JSON object), "c -mcpu=native -cc=clang". Bools are 0, 1, true or
 * false; a bool without a value is true. In JSON bools may be 0 and 1, integers may be strings, and lists may be
 * arrays of strings. TVM's names of attributes are understood.
 * "-from_device=N" is replaced by the limits of device N, which the caller has opened and passes; with device
 * NULL it is an error. What the text says itself stands over them. Raises; for unknown kinds, tags and attributes
 * the message names the nearest. */
GPUC_API const gpuc_target *gpuc_target_parse(gpuc_ctx *ctx, const char *text, gpuc_device *device);
/* Whether text has -from_device, and of which kind and number; for callers, who must open it first. The context
 * finds the kinds and may be NULL. */
GPUC_API bool gpuc_target_wants_device(gpuc_ctx *ctx, const char *text, gpuc_device_type *type, int *index);
/* The string form: kind or tag, and all that differs from it. Parsing it gives the same target. */
GPUC_API const char *gpuc_target_text(gpuc_ctx *ctx, const gpuc_target *t);
/* The same as a JSON object. */
GPUC_API const char *gpuc_target_json(gpuc_ctx *ctx, const gpuc_target *t);
/* Whether kind, tag and all attributes are the same, and so the texts. */
GPUC_API bool gpuc_target_equal(const gpuc_target *a, const gpuc_target *b);
GPUC_API const char *gpuc_target_kind(const gpuc_target *t); /* "vulkan" */
GPUC_API const char *gpuc_target_tag(const gpuc_target *t);  /* "vulkan/llvmpipe"; "" without one */
/* The kind of device that its code runs on. */
GPUC_API gpuc_device_type gpuc_target_device_type(const gpuc_target *t);
/* Whether code for the target can compute in a type: it has the type, or lowering replaces it by another. */
GPUC_API bool gpuc_target_computes(const gpuc_target *t, gpuc_dtype dtype);
/* Whether its kind runs the operator, by its name in Relay ("nn.conv2d"), in types that the target computes in. */
GPUC_API bool gpuc_target_runs(const gpuc_target *t, const char *op);

/* ---- Attributes ---- */

/* The type of an attribute. */
typedef enum gpuc_target_type { GPUC_TARGET_INT = 1, GPUC_TARGET_BOOL, GPUC_TARGET_STRING } gpuc_target_type;

/* The value of an attribute. */
typedef struct gpuc_target_value {
    gpuc_target_type type; /* which of the following fields holds the value */
    int64_t i;             /* INT; BOOL: 0 or 1 */
    const char *s;         /* STRING: never NULL */
} gpuc_target_value;

/* An integer as a value. */
static inline gpuc_target_value gpuc_target_int(int64_t i)
{
    gpuc_target_value v = {GPUC_TARGET_INT, i, ""};
    return v;
}
/* A bool as a value. */
static inline gpuc_target_value gpuc_target_bool(bool b)
{
    gpuc_target_value v = {GPUC_TARGET_BOOL, b, ""};
    return v;
}
/* A string as a value, borrowed. */
static inline gpuc_target_value gpuc_target_string(const char *s)
{
    gpuc_target_value v = {GPUC_TARGET_STRING, 0, s};
    return v;
}

/* The value of an attribute, by its name or another name of it; strings are the target's. False, and an int 0, if
 * its kind has none of that name. */
GPUC_API bool gpuc_target_get(const gpuc_target *t, const char *name, gpuc_target_value *out);
/* An int attribute, or a bool one as 0 or 1; 0 for others, and if there is none. */
GPUC_API int64_t gpuc_target_get_int(const gpuc_target *t, const char *name);
/* Whether a bool attribute is set, or an int one is not 0; false for others, and if there is none. */
GPUC_API bool gpuc_target_get_bool(const gpuc_target *t, const char *name);
/* A string attribute, borrowed from the target; "" for others, and if there is none. */
GPUC_API const char *gpuc_target_get_string(const gpuc_target *t, const char *name);
GPUC_API int64_t gpuc_target_attr(const gpuc_target *t,
                                  const char *name); /* old name of gpuc_target_get_int */
/* The target that has another value of one attribute: that of the text of t with -name=value behind it. t stays
 * as it is. Raises as gpuc_target_parse does. */
GPUC_API const gpuc_target *gpuc_target_with(gpuc_ctx *ctx, const gpuc_target *t, const char *name,
                                             gpuc_target_value value);

/* An attribute of a kind. */
typedef struct gpuc_target_attr_row {
    const char *name;      /* of letters, digits, "_", "-" and "."; not from_device */
    gpuc_target_type type; /* of its values */
    int64_t i;             /* the default of an INT, or of a BOOL (0 or 1) */
    const char *s;         /* the default of a STRING; NULL: "" */
    /* (optional) An error for a value that it cannot have, with what is wrong and what would be right: "must be a
     * power of two, not 3". The message goes behind the attribute's name. The value is of the row's type. */
    gpuc_status (*check)(const gpuc_target_value *value);
    const char *about; /* (optional) the meaning, in a phrase */
    bool list;         /* STRING: items separated by commas; JSON may have an array */
    bool kept; /* no code depends on it: it is there because TVM has it, and part of the target's text */
} gpuc_target_attr_row;

/* Another name of an attribute. */
typedef struct gpuc_target_alias {
    const char *name; /* that is understood */
    const char *of;   /* the name that is printed, or another alias */
} gpuc_target_alias;

/* ---- Kinds ---- */

/* A target while it is made: what the functions of a kind read and change. */
typedef struct gpuc_target_draft gpuc_target_draft;

/* The target with the values so far, for gpuc_target_get; borrowed, and it changes with the draft. */
GPUC_API const gpuc_target *gpuc_target_draft_get(const gpuc_target_draft *d);
/* Whether the text itself sets the attribute. */
GPUC_API bool gpuc_target_draft_given(const gpuc_target_draft *d, const char *name);
/* Sets an attribute, whatever the text says. A string is copied. INVALID_ARGUMENT for an unknown attribute, a
 * value of another type, and one that the attribute's check refuses. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_target_draft_set(gpuc_target_draft *d, const char *name,
                                                          gpuc_target_value value);
/* The same, but an attribute that the text sets stays as it is. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_target_draft_fill(gpuc_target_draft *d, const char *name,
                                                           gpuc_target_value value);

/* What the kernels of a kind are written in. Passes ask these fields, never for the kind: lowering leaves out, or
 * replaces, what a language does not have. A field that is left out is false, and 0 in max_lanes is 1. */
typedef struct gpuc_language {
    bool work_groups;  /* a launch is a grid of work-groups; else its dimensions are loops of the kernel */
    bool ahead;        /* packages hold machine code; else a driver compiles while the program waits */
    bool descriptors;  /* tensors are bindings with limits, windows and texel views; vectors are aligned */
    bool matrices;     /* has operations on cooperative matrices */
    bool functions;    /* has functions, which kernels share: dot products of small integers */
    bool wraps;        /* arithmetic of int32 that overflows wraps around; else it is undefined, as in C */
    bool c99_math;     /* floats, and remainders of negative integers, are as C99 defines them */
    bool vector_mod;   /* fmod of vectors is right (PoCL's is not) */
    bool compares_nan; /* isnan is written a != a (PoCL compiles isnan for long) */
    bool states_iterations; /* kernels state their loop iterations, though they have no variants */
    bool guarded_barriers;  /* a barrier may stand under a condition in a loop whose extent a run decides */
    bool vector_parts;      /* some lanes of a vector in memory or registers are a vector: v.s01234567 */
    bool three_lanes;       /* has vectors of three elements */
    bool machine_vectors;   /* vectors are those of the machine: no longer than vector_bits */
    bool half_casts;        /* float16 is converted by functions, computed with or not */
    bool
        loops_in_parts; /* a kernel that is one parallel loop can run a part of it: `launch` is its iterations */
    int max_lanes;      /* of the longest vector; a power of two */
    uint32_t own_features; /* gpuc_feature bits that it has on every device */
} gpuc_language;

/* A kind of target. Those that are built in are rows like those that a program registers. */
typedef struct gpuc_target_kind_row {
    const char *
        name; /* of letters, digits and "_", at most 40: what texts begin with; also of target.build.<name> */
    const char
        *device; /* the name of the devices that its code runs on: "vulkan", "cpu", or that of a driver */
    const char *keys;  /* (optional) the default of the attribute keys: "gpu,fast" */
    const char *about; /* (optional) in a phrase */
    /* (optional) What the kind has beyond the attributes of all kinds, ended by a row without a name. A row with the
     * name of an attribute that all kinds have (max_num_threads, float16, vector_bits, ...) gives it another default
     * and check; without one features are off, and a work-group has one thread. A row of the kinds that
     * gpuc_target_kind_at lists has all attributes. */
    const gpuc_target_attr_row *attrs;
    const gpuc_target_alias *aliases; /* (optional) ended by a row without a name */
    gpuc_language language;           /* of its kernels */
    /* (optional) Completes and unifies what texts say, after tag, device and text were read: other spellings of a
     * value (gpuc_target_draft_set), and what follows from others (gpuc_target_draft_fill). Doing it twice is the
     * same as once, and it depends on nothing but the attributes. An error is that of the text. It runs again where
     * the target is printed, on any thread of a build. */
    gpuc_status (*canonicalise)(gpuc_target_draft *d);
    /* (optional) -from_device: what an open device says, by gpuc_target_draft_fill. Without it, the text is an
     * error. */
    gpuc_status (*from_device)(gpuc_target_draft *d, gpuc_device *device);
    /* (optional) Whether an operator, by its name in Relay ("nn.conv2d"), runs on the target; without it all do. What
     * does not runs on the CPU, as what has a type that the target does not compute in, with copies between. It
     * depends on nothing but its arguments, and any thread may ask. */
    bool (*runs)(const gpuc_target *t, const char *op);
    gpuc_device_type device_type; /* of device; registering fills it in */
} gpuc_target_kind_row;

/* Adds a kind to a runtime, under target.kind.<name> of its registry. All that the row points to is copied, but for
 * code. INVALID_ARGUMENT, with the name, if the row or an attribute has no name or one that is taken, a type that
 * there is not, a default that its own check or canonicalise refuses, or aliases that lead nowhere. As for the
 * registry: not beside other threads that use the runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_target_kind_register(gpuc_runtime *rt,
                                                              const gpuc_target_kind_row *kind);
/* The number of kinds that a context finds; of those that are built in, for NULL. */
GPUC_API size_t gpuc_target_kind_count(gpuc_ctx *ctx);
/* Kind i: those that are built in first, then by name; NULL where there is none. A registered one is the
 * runtime's. */
GPUC_API const gpuc_target_kind_row *gpuc_target_kind_at(gpuc_ctx *ctx, size_t i);
/* The kind of that name, or NULL. */
GPUC_API const gpuc_target_kind_row *gpuc_target_kind_find(gpuc_ctx *ctx, const char *name);

/* ---- Tags ---- */

/* A name for the text of a target. */
typedef struct gpuc_target_tag_row {
    const char *name;   /* "vulkan/llvmpipe": as of a kind, with "/", "." and "-", too */
    const char *target; /* the text that it stands for, of a kind or of another tag; without -from_device */
    const char *about;  /* (optional) in a phrase */
} gpuc_target_tag_row;

/* Adds a tag to a runtime, under target.tag.<name> of its registry; the row is copied. INVALID_ARGUMENT, with the
 * name, if it is taken, or if the text is not that of a target: what it names must be there before, so no tag can
 * lead to itself. Not beside other threads that use the runtime. */
GPUC_API GPUC_NODISCARD gpuc_status gpuc_target_tag_register(gpuc_runtime *rt,
                                                             const gpuc_target_tag_row *tag);
/* The number of tags that a context finds; of those that are built in, for NULL. */
GPUC_API size_t gpuc_target_tag_count(gpuc_ctx *ctx);
/* Tag i: those that are built in first, then by name; NULL where there is none. A registered one is the
 * runtime's. */
GPUC_API const gpuc_target_tag_row *gpuc_target_tag_at(gpuc_ctx *ctx, size_t i);
/* The tag of that name, or NULL. */
GPUC_API const gpuc_target_tag_row *gpuc_target_tag_find(gpuc_ctx *ctx, const char *name);

#ifdef __cplusplus
}
#endif
#endif
