/* SPDX-License-Identifier: Apache-2.0 */
/* A plug-in that does all as it should: packed functions, a module, and with the compiler a kind of target, its code
 * generator and a tag, and a pass over Relay. */
#include <stdlib.h>
#include <string.h>

#include <gpuc/config.h>
#include <gpuc/plugin.h>
#if GPUC_HAVE_COMPILER
#include <gpuc/relay_pass.h>
#endif

static gpuc_status add(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)self;
    if (num_args != 2 || args[0].kind != GPUC_VALUE_INT || args[1].kind != GPUC_VALUE_INT)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "good.add takes two integers");
    *ret = gpuc_arg_int(args[0].as.i + args[1].as.i);
    return NULL;
}

/* (x) -> host.twice(x) + 1, with the host's function; self is the runtime. */
static gpuc_status ask_host(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    GPUC_TRY(gpuc_function_call(gpuc_registry_get(self, "host.twice"), args, num_args, ret));
    ret->as.i++;
    return NULL;
}

static gpuc_status fail(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)ret;
    (void)self;
    return gpuc_fail(GPUC_NOT_FOUND, "the plug-in found none of %d arguments", num_args);
}

/* ---- State: memory of the plug-in, which its code frees ---- */

typedef struct state {
    int *freed; /* of the host: counts up when the state goes */
} state;

static gpuc_status watch(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)ret;
    if (num_args != 1 || args[0].kind != GPUC_VALUE_HANDLE)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "good.watch takes a handle");
    ((state *)self)->freed = args[0].as.handle;
    return NULL;
}

static void free_state(void *self)
{
    state *s = self;
    if (s->freed) ++*s->freed;
    free(s);
}

/* ---- A module ---- */

static gpuc_status seven(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    *ret = gpuc_arg_int(*(int *)self);
    return NULL;
}

typedef struct module_state {
    gpuc_runtime *rt;
    int number;
} module_state;

static gpuc_status module_function(gpuc_module *m, const char *name, gpuc_function **out)
{
    module_state *s = gpuc_module_state(m);
    if (strcmp(name, "seven") != 0) return NULL;
    return gpuc_function_create(s->rt, seven, &s->number, NULL, m, out);
}

static void module_destroy(gpuc_module *m)
{
    free(gpuc_module_state(m));
}

static const gpuc_module_ops module_ops = {
    .type_key = "good", .get_function = module_function, .destroy = module_destroy};

static gpuc_status make_module(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    module_state *s = malloc(sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "no memory");
    *s = (module_state){.rt = self, .number = 7};
    ret->kind = GPUC_VALUE_MODULE;
    gpuc_status status = gpuc_module_create(self, &module_ops, s, &ret->as.module);
    if (!status) return NULL;
    ret->kind = GPUC_VALUE_NULL;
    free(s);
    return status;
}

/* ---- A target ---- */

#if GPUC_HAVE_COMPILER
static gpuc_status check_lanes(const gpuc_target_value *v)
{
    return v->i < 16 ? NULL : gpuc_fail(GPUC_INVALID_ARGUMENT, "must be below 16, not %lld", (long long)v->i);
}

static gpuc_status canonicalise(gpuc_target_draft *d)
{
    int64_t lanes = gpuc_target_get_int(gpuc_target_draft_get(d), "good_lanes");
    return gpuc_target_draft_fill(d, "max_num_threads", gpuc_target_int(8 * lanes));
}

static const gpuc_target_attr_row attrs[] = {
    {"good_lanes", GPUC_TARGET_INT, .i = 4, .check = check_lanes, .about = "lanes of the good machine"}, {0}};

static const gpuc_target_kind_row kind = {
    .name = "good_kind",
    .device = "cpu",
    .about = "a target of a plug-in",
    .attrs = attrs,
    .language = {.ahead = true, .c99_math = true, .max_lanes = 1},
    .canonicalise = canonicalise,
};

static const gpuc_target_tag_row tags[] = {
    {"good_kind/small", "good_kind -good_lanes=1", "a tag of a plug-in"},
    {"c/good", "c -float64=0", "a tag of a plug-in for a kind of gpuc"},
};

/* target.build.good_kind */
static gpuc_status generate(const gpuc_value *args, int num_args, gpuc_value *ret, void *self)
{
    (void)args;
    (void)num_args;
    (void)ret;
    (void)self;
    return gpuc_fail(GPUC_UNSUPPORTED, "the good generator was called, and makes no code");
}

/* A pass: operators of one name become those of another. */
static gpuc_rexpr *rename_call(gpuc_ctx *ctx, gpuc_rexpr *old, gpuc_rexpr *e, void *options)
{
    const char *name = gpuc_relay_get_name(old);
    gpuc_rexpr *x = gpuc_relay_operand(e, 1);
    if (gpuc_relay_get_kind(e) != GPUC_REXPR_CALL || !name || !x) return e;
    if (strcmp(name, gpuc_attrs_get_string(options, "from", "")) != 0) return e;
    return gpuc_relay_apply(ctx, gpuc_attrs_get_string(options, "to", ""), NULL, 1, &x);
}

static gpuc_rmodule *rename_calls(gpuc_ctx *ctx, gpuc_rmodule *m, const gpuc_target *target,
                                  const gpuc_attrs *options, void *user)
{
    (void)ctx;
    (void)target;
    (void)user;
    return gpuc_rmodule_mutate(m, rename_call, (void *)(uintptr_t)options);
}

static const gpuc_relay_pass_desc pass = {
    .name = "good_rename",
    .options = "from=\"exp\", to=\"tanh\"",
    .about = "writes one operator as another",
    .run = rename_calls,
};

static gpuc_status register_target(gpuc_runtime *rt)
{
    GPUC_TRY(gpuc_relay_pass_register(rt, &pass));
    GPUC_TRY(gpuc_target_kind_register(rt, &kind));
    GPUC_TRY(gpuc_registry_set_fn(rt, "target.build.good_kind", generate, NULL, NULL, false));
    for (int i = 0; i < 2; i++) GPUC_TRY(gpuc_target_tag_register(rt, &tags[i]));
    return NULL;
}
#else
static gpuc_status register_target(gpuc_runtime *rt)
{
    (void)rt;
    return NULL;
}
#endif

GPUC_PLUGIN_EXPORT gpuc_status gpuc_plugin_init(gpuc_runtime *rt, uint32_t abi)
{
    GPUC_TRY(gpuc_plugin_check_abi(abi));
    state *s = calloc(1, sizeof *s);
    if (!s) return gpuc_fail(GPUC_OUT_OF_MEMORY, "no memory");
    GPUC_TRY(gpuc_registry_set_fn(rt, "good.watch", watch, s, free_state, false));
    GPUC_TRY(gpuc_registry_set_fn(rt, "good.add", add, NULL, NULL, false));
    GPUC_TRY(gpuc_registry_set_fn(rt, "good.ask_host", ask_host, rt, NULL, false));
    GPUC_TRY(gpuc_registry_set_fn(rt, "good.fail", fail, NULL, NULL, false));
    GPUC_TRY(gpuc_registry_set_fn(rt, "good.module", make_module, rt, NULL, false));
    return register_target(rt);
}
