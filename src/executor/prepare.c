/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the kernels of a model ahead of its first run, and runs it once. Some drivers compile at the first launch of a
 * kernel, and for what is bound to it (lavapipe makes another variant for other sizes of a texel view): only the
 * same launches, on memory of the same sizes, leave nothing to the first run. */
#include "base/require.h"
#include "executor/session.h"

gpuc_status gpuc_model_make_kernels(gpuc_model *m, bool richest, gpuc_progress_fn progress, void *user)
{
    const gpuc_making making = {.loaded = m->code,
                                .num_loaded = m->exec->num_devices,
                                .richest = richest,
                                .progress = progress,
                                .user = user};
    return gpuc_error_prefix(gpuc_loader_make(m->rt, &making), "target '%s'", m->program->target);
}

unsigned gpuc_model_richer(const gpuc_model *m)
{
    unsigned sum = 0;
    for (uint32_t d = 0; d < m->exec->num_devices; d++) sum += atomic_load(&m->code[d]->richer);
    return sum;
}

/* Parts, then operators. */
typedef struct preparation {
    gpuc_progress_fn progress;
    void *user;
    uint32_t done, total, num_nodes; /* total: with the operators */
} preparation;

static bool note_part(void *user, uint32_t done, uint32_t total, const char *name)
{
    preparation *p = user;
    p->done = done;
    p->total = total + p->num_nodes;
    return !p->progress || p->progress(p->user, done, p->total, name);
}

static gpuc_status note_node(preparation *p, const char *name)
{
    p->done++;
    if (!p->progress || p->progress(p->user, p->done, p->total, name)) return NULL;
    return gpuc_fail(GPUC_CANCELLED, "stopped by the application as %u of %u parts and operators were ready",
                     p->done, p->total);
}

/* ---- Warming up ---- */

/* A model with open dimensions has no sizes yet to run with. */
static bool is_fixed(const gpuc_model *m)
{
    const gpuc_signature *sig = &m->package.signature;
    for (uint32_t i = 0; i < sig->num_inputs; i++)
        for (uint32_t d = 0; d < sig->inputs[i].ndim; d++)
            if (sig->inputs[i].dims[d] < 0) return false;
    return true;
}

static gpuc_status set_zeros(gpuc_session *s, int i)
{
    gpuc_tensor_info info = gpuc_model_input(s->model, i);
    gpuc_ndarray *zeros;
    if (info.has_default) return NULL;
    GPUC_TRY(gpuc_session_create_array(s, s->model->exec->inputs[i], info.dims, &zeros));
    gpuc_status status = gpuc_session_bind_input(s, i, zeros);
    gpuc_ndarray_release(zeros);
    return status;
}

static gpuc_status run_nodes(gpuc_session *s, preparation *p)
{
    for (int i = 0; i < gpuc_model_num_inputs(s->model); i++) GPUC_TRY(set_zeros(s, i));
    for (uint32_t n = 0; n < p->num_nodes; n++) {
        GPUC_TRY(gpuc_session_run_node(s, (int)n));
        GPUC_TRY(note_node(p, gpuc_model_node(s->model, (int)n).name));
    }
    return NULL;
}

/* Zeros may be no input for this model; then it is not warm, but as good as before. */
static bool is_of_zeros(gpuc_status status)
{
    gpuc_code code = gpuc_status_code(status);
    return code == GPUC_INVALID_ARGUMENT || code == GPUC_INVALID_DATA || code == GPUC_UNSUPPORTED;
}

static gpuc_status warm_up(gpuc_model *m, preparation *p)
{
    gpuc_session *s;
    GPUC_TRY(gpuc_session_create_stepped(m, &s));
    gpuc_status status = run_nodes(s, p);
    gpuc_session_release(s);
    if (!is_of_zeros(status)) return status;
    gpuc_runtime_log(m->rt, GPUC_LOG_INFO, "model.prepare", "no warm-up of the whole model: %s",
                     gpuc_status_message(status));
    gpuc_status_release(status);
    while (p->done < p->total) GPUC_TRY(note_node(p, ""));
    return NULL;
}

gpuc_status gpuc_model_prepare(gpuc_model *model, gpuc_progress_fn progress, void *user)
{
    GPUC_REQUIRE(model);
    bool warm = atomic_load(&model->warm) || !is_fixed(model);
    preparation p = {.progress = progress, .user = user, .num_nodes = warm ? 0 : model->exec->num_nodes};
    p.total = p.num_nodes;
    GPUC_TRY(gpuc_model_make_kernels(model, true, note_part, &p));
    if (warm) return NULL;
    GPUC_TRY(warm_up(model, &p));
    atomic_store(&model->warm, true);
    return NULL;
}
