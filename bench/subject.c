/* SPDX-License-Identifier: Apache-2.0 */
/* What is common to workloads of every kind: the target with its device, a package on it. */
#include <gpuc/tune.h>

#include "bench.h"

const gpuc_target *bench_open(gpuc_ctx *ctx, bench_subject *s, gpuc_device **device)
{
    gpuc_device_type type;
    int index;
    gpuc_device *asked = NULL;
    if (gpuc_target_wants_device(ctx, s->target, &type, &index))
        GPUC_RAISE_IF(ctx, gpuc_device_open(s->rt, type, index, &asked));
    const gpuc_target *target = gpuc_target_parse(ctx, s->target, asked);
    *device = asked;
    if (!asked) GPUC_RAISE_IF(ctx, gpuc_device_open(s->rt, gpuc_target_device_type(target), 0, device));
    gpuc_attr_value name = gpuc_device_get_attr(*device, GPUC_ATTR_NAME);
    s->pin = s->pin && (*device)->type != GPUC_DEVICE_CPU;
    snprintf(s->device, sizeof s->device, "%s", name.known ? name.s : "");
    return target;
}

gpuc_status bench_load(const bench_subject *s, const char *package, gpuc_device *device, gpuc_model **out)
{
    gpuc_model_desc desc = GPUC_MODEL_DESC_INIT;
    desc.path = package;
    desc.device = device;
    desc.allow_native_code = true;
    return gpuc_model_load(s->rt, &desc, out);
}

gpuc_build_options bench_build_options(gpuc_ctx *ctx, const bench_subject *s)
{
    gpuc_build_options options = GPUC_BUILD_OPTIONS_INIT;
    if (s->num_logs) options.tuning = gpuc_tuning_load(ctx, s->num_logs, s->logs, NULL, NULL);
    return options;
}

void bench_need_tuned(gpuc_ctx *ctx, bench_subject *s, const gpuc_build_report *report)
{
    s->untuned = s->num_logs && report->num_tuned == 0;
    if (s->untuned) gpuc_raise(ctx, GPUC_NOT_FOUND, "the tuning logs have nothing for it");
}
