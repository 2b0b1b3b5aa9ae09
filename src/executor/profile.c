/* SPDX-License-Identifier: Apache-2.0 */
/* Tells how long each step of the last inference took on its device. */
#include "base/require.h"
#include "executor/session.h"

static void describe(const gpuc_model *m, const gpuc_part *part, uint32_t step, double ns,
                     gpuc_step_profile *out)
{
    const gpuc_exec_step *s = &m->exec->steps[step];
    const gpuc_kernel *k =
        s->kind == GPUC_STEP_LAUNCH ? &m->program->kernels[part->kernels[step - part->first_step]] : NULL;
    const char *other = s->kind == GPUC_STEP_READ ? "read" : "copy";
    *out = (gpuc_step_profile){
        .node = m->step_nodes[step], .kernel = k ? k->name : other, .label = k ? k->label : other, .ns = ns};
}

static gpuc_status profile_plan(gpuc_session *s, const gpuc_part *part, const gpuc_segment *segment,
                                gpuc_step_profile *out, uint32_t count)
{
    const gpuc_device_api *api = s->model->devices[segment->device].code.dev->api;
    if (!api->plan_profile) return gpuc_fail(GPUC_UNSUPPORTED, "%s devices do not measure steps", api->name);
    double *ns = gpuc_mem_alloc(s->allocator, segment->num_steps * sizeof *ns);
    if (!ns) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a profile");
    gpuc_status status = api->plan_profile(segment->plan, ns, segment->num_steps);
    for (uint32_t i = 0; !status && i < segment->num_steps && i < count; i++)
        describe(s->model, part, segment->first_step + i, ns[i], &out[i]);
    gpuc_mem_free(s->allocator, ns, segment->num_steps * sizeof *ns);
    return status;
}

static gpuc_status profile_part(gpuc_session *s, const gpuc_part *part, gpuc_step_profile *out, uint32_t room)
{
    for (uint32_t i = 0; i < part->num_segments; i++) {
        const gpuc_segment *segment = &part->segments[i];
        if (segment->first_step >= room) return NULL;
        if (segment->plan)
            GPUC_TRY(profile_plan(s, part, segment, out + segment->first_step, room - segment->first_step));
        else
            describe(s->model, part, segment->first_step, segment->transfer_ns, &out[segment->first_step]);
    }
    if (part->end_step < s->model->exec->num_steps && part->end_step < room)
        describe(s->model, part, part->end_step, 0, &out[part->end_step]);
    return NULL;
}

/* in_out_count: the room in out; on return the number of steps, of which as many as fit were written. */
gpuc_status gpuc_session_profile(gpuc_session *s, gpuc_step_profile *out, int *in_out_count)
{
    GPUC_REQUIRE(s);
    GPUC_REQUIRE(in_out_count);
    uint32_t room = out && *in_out_count > 0 ? (uint32_t)*in_out_count : 0;
    *in_out_count = (int)s->model->exec->num_steps;
    if (!s->model->profiling)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the model was loaded without profiling");
    if (!s->has_run)
        return gpuc_fail(GPUC_INVALID_ARGUMENT,
                         "the session has not been run, or its last run failed or was in slices");
    if (room == 0) return NULL;
    GPUC_TRY(gpuc_session_sync(s));
    for (uint32_t p = 0; p < s->states->num_parts; p++)
        GPUC_TRY(profile_part(s, &s->states->parts[p], out, room));
    return NULL;
}
