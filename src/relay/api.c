/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of gpuc/relay.h: texts in and out of a context. */
#include "relay/infer.h"

static void deinit_buf(void *buf)
{
    gpuc_buf_deinit(buf);
}

static void begin_text(gpuc_ctx *ctx, gpuc_buf *out)
{
    gpuc_buf_init(out, ctx->allocator);
    gpuc_ctx_push_cleanup(ctx, deinit_buf, out);
}

static const char *take_text(gpuc_ctx *ctx, gpuc_buf *out)
{
    GPUC_RAISE_IF(ctx, gpuc_buf_status(out));
    const char *text = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(out));
    gpuc_ctx_pop_cleanup(ctx, true);
    return text;
}

static void copy_names(gpuc_strmap *to, const gpuc_strmap *from)
{
    for (uint32_t i = 0; i < from->map.count; i++)
        gpuc_strmap_set(to, from->map.entries[i].key, from->map.entries[i].value);
}

void gpuc_rmodule_copy_types(gpuc_rmodule *to, const gpuc_rmodule *from)
{
    copy_names(&to->adts, &from->adts);
    copy_names(&to->constructors, &from->constructors);
    copy_names(&to->imports, &from->imports);
}

void gpuc_rmodule_copy_interface(gpuc_rmodule *to, const gpuc_rmodule *from)
{
    to->num_outputs = from->num_outputs;
    to->output_names = from->output_names;
    copy_names(&to->defaults, &from->defaults);
    copy_names(&to->input_images, &from->input_images);
    copy_names(&to->output_images, &from->output_images);
    for (size_t i = 0; i < from->conditions.count; i++)
        gpuc_ptrs_push(to->ctx, &to->conditions, from->conditions.at[i]);
}

static void check_written(gpuc_ctx *ctx, gpuc_rmodule *m)
{
    for (size_t i = 0; i < m->written.count; i++) {
        const gpuc_relay_written *w = m->written.at[i];
        bool is_used = w->e->type; /* what nothing uses has none */
        if (!is_used || gpuc_relay_fits(ctx, w->type, w->e->type)) continue;
        const char *text =
            gpuc_ctx_printf(ctx, "this is %s, it must be %s", gpuc_relay_rtype_text(ctx, w->e->type),
                            gpuc_relay_rtype_text(ctx, w->type));
        gpuc_raise(ctx, GPUC_INVALID_ARGUMENT, "%s", gpuc_relay_located(ctx, w->span, text));
    }
    m->written.count = 0;
}

gpuc_rmodule *gpuc_relay_parse(gpuc_ctx *ctx, const char *text, const char *origin, const gpuc_rmodule *with)
{
    gpuc_relay_need(ctx, "parsing a Relay program", "text", text);
    gpuc_relay_need(ctx, "parsing a Relay program", "origin", origin);
    gpuc_rmodule *m = gpuc_rmodule_create(ctx);
    if (with) {
        copy_names(&m->functions, &with->functions);
        gpuc_rmodule_copy_types(m, with);
    }
    gpuc_relay_parse_text(ctx, m, text, origin, NULL);
    gpuc_relay_infer_functions(ctx, m, with ? with->functions.map.count : 0);
    check_written(ctx, m);
    return m;
}

const char *gpuc_relay_text(gpuc_ctx *ctx, const gpuc_rmodule *m, int flags)
{
    gpuc_buf out;
    gpuc_relay_need(ctx, "printing a Relay program", "module", m);
    begin_text(ctx, &out);
    gpuc_relay_print(ctx, &out, m, flags, NULL);
    return take_text(ctx, &out);
}

int gpuc_rmodule_num_functions(const gpuc_rmodule *m)
{
    return m ? (int)m->functions.map.count : 0;
}

const char *gpuc_rmodule_function_name(const gpuc_rmodule *m, int i)
{
    return i >= 0 && i < gpuc_rmodule_num_functions(m) ? m->functions.map.entries[i].key : NULL;
}

int gpuc_rmodule_num_params(const gpuc_rmodule *m, const char *function)
{
    return gpuc_as_rfunction(gpuc_rmodule_get(m, function))->n;
}

const char *gpuc_rmodule_param_name(const gpuc_rmodule *m, const char *function, int i)
{
    const gpuc_rfunction *f = gpuc_as_rfunction(gpuc_rmodule_get(m, function));
    return i >= 0 && i < f->n ? gpuc_as_rvar(f->params[i])->name : NULL;
}

const char *gpuc_relay_rtype_text(gpuc_ctx *ctx, const gpuc_rtype *t)
{
    gpuc_buf out;
    begin_text(ctx, &out);
    gpuc_relay_rtype_print(ctx, &out, t);
    return take_text(ctx, &out);
}

const char *gpuc_rmodule_function_type(gpuc_ctx *ctx, const gpuc_rmodule *m, const char *name)
{
    gpuc_relay_need(ctx, "the type of a function", "module", m);
    return gpuc_relay_rtype_text(ctx, gpuc_rmodule_get(m, name)->type);
}
