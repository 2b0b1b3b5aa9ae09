/* SPDX-License-Identifier: Apache-2.0 */
/* Which values are images, and arrays for them. */
#include "executor/session.h"
#include "runtime/ndarray.h"

/* As the first kernel that takes its slot has it; one that has it otherwise is refused when it is bound. */
static bool is_image(const gpuc_model *m, uint32_t slot)
{
    const gpuc_exec *e = m->exec;
    for (uint32_t i = 0; i < e->num_steps; i++) {
        const gpuc_exec_step *s = &e->steps[i];
        if (s->kind != GPUC_STEP_LAUNCH || s->device != e->slots[slot].device) continue;
        const gpuc_kernel *k = &m->program->kernels[s->kernel];
        for (uint32_t t = 0; t < k->num_tensors; t++)
            if (e->values[s->tensors[t].value].slot == slot) return k->tensors[t].image != 0;
    }
    return false;
}

static gpuc_status create_array(const gpuc_session *s, uint32_t value, const int64_t *dims,
                                gpuc_ndarray **out)
{
    const gpuc_exec *e = s->model->exec;
    const gpuc_exec_value *v = &e->values[value];
    gpuc_device *dev = s->model->devices[e->slots[v->slot].device].code.dev;
    if (is_image(s->model, v->slot)) return gpuc_ndarray_create_image(dev, v->dtype, (int)v->ndim, dims, out);
    return gpuc_ndarray_create(s->model->rt, dev, v->dtype, (int)v->ndim, dims, out);
}

gpuc_status gpuc_session_create_array(gpuc_session *s, uint32_t value, const int64_t *dims,
                                      gpuc_ndarray **out)
{
    gpuc_status status = create_array(s, value, dims, out);
    return gpuc_session_reclaim(s, &status) ? create_array(s, value, dims, out) : status;
}
