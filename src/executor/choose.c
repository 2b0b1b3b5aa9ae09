/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the program of a package to run. A program is passed over, and the reason kept, if its devices
 * cannot be opened or lack something, or if it has native code that was not allowed. */
#include "executor/model.h"

#include <string.h>

#include "base/buf.h"

static gpuc_status open_devices(gpuc_model *m, const gpuc_program *p, gpuc_device *given,
                                gpuc_device **devices)
{
    for (uint32_t i = 0; i < p->exec.num_devices; i++) {
        if (i == 0 && given) {
            devices[i] = given;
            continue;
        }
        GPUC_TRY(gpuc_device_open(m->rt, (gpuc_device_type)p->exec.devices[i], 0, &devices[i]));
    }
    return NULL;
}

static gpuc_status try_program(gpuc_model *m, const gpuc_program *p, const gpuc_model_desc *desc)
{
    uint32_t n = p->exec.num_devices;
    gpuc_device **opened = gpuc_arena_alloc_array(&m->arena, n, sizeof *opened);
    gpuc_program_device *devices = gpuc_arena_alloc_array(&m->arena, n, sizeof *devices);
    if (!opened || !devices) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
    GPUC_TRY(open_devices(m, p, desc->device, opened));
    GPUC_TRY(gpuc_loader_check_native_code(p, desc->allow_native_code));
    GPUC_TRY(gpuc_loader_check_requirements(p, opened, n));
    for (uint32_t i = 0; i < n; i++) devices[i].code.dev = opened[i];
    m->program = p;
    m->exec = &p->exec;
    m->devices = devices;
    return NULL;
}

static gpuc_status nothing_for(const gpuc_model *m, const gpuc_device *dev)
{
    gpuc_buf targets;
    gpuc_buf_init(&targets, m->allocator);
    for (uint32_t i = 0; i < m->package.num_programs; i++)
        gpuc_buf_printf(&targets, "%s'%s'", i ? ", " : "", m->package.programs[i].target);
    gpuc_status s = gpuc_fail(GPUC_NOT_FOUND, "the package holds nothing for %s devices; its targets are %s",
                              dev->api->name, gpuc_buf_cstr(&targets));
    gpuc_buf_deinit(&targets);
    return s;
}

static gpuc_status keep_reason(gpuc_model *m, const gpuc_buf *reasons)
{
    GPUC_TRY(gpuc_buf_status(reasons));
    m->fallback_reason = gpuc_arena_strdup(&m->arena, gpuc_buf_cstr(reasons));
    return m->fallback_reason ? NULL : gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory");
}

static gpuc_status choose(gpuc_model *m, const gpuc_model_desc *desc, gpuc_buf *reasons)
{
    uint32_t tried = 0;
    gpuc_code code = GPUC_DEVICE_UNAVAILABLE;
    for (uint32_t i = 0; i < m->package.num_programs; i++) {
        const gpuc_program *p = &m->package.programs[i];
        if (desc->device && p->device_type != (uint32_t)desc->device->type) continue;
        gpuc_status s = try_program(m, p, desc);
        if (!s) return keep_reason(m, reasons);
        if (gpuc_status_code(s) == GPUC_OUT_OF_MEMORY) return s;
        gpuc_buf_printf(reasons, "%starget '%s': %s", tried ? "; " : "", p->target, gpuc_status_message(s));
        code = tried++ == 0 || code == gpuc_status_code(s) ? gpuc_status_code(s) : GPUC_DEVICE_UNAVAILABLE;
        gpuc_status_release(s);
    }
    if (tried == 0 && desc->device) return nothing_for(m, desc->device);
    if (tried == 0) return gpuc_fail(GPUC_INVALID_DATA, "the package holds no program");
    GPUC_TRY(gpuc_buf_status(reasons));
    return gpuc_fail(code, "no program of the package can run here: %s", gpuc_buf_cstr(reasons));
}

gpuc_status gpuc_model_choose(gpuc_model *m, const gpuc_model_desc *desc)
{
    if (desc->device && desc->device->runtime != m->rt)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "the device belongs to another runtime");
    if (desc->weight_memory && (!desc->device || gpuc_ndarray_device(desc->weight_memory) != desc->device))
        return gpuc_fail(
            GPUC_INVALID_ARGUMENT,
            "gpuc_model_desc.weight_memory must lie on gpuc_model_desc.device, which must be given");
    gpuc_buf reasons;
    gpuc_buf_init(&reasons, m->allocator);
    gpuc_status s = choose(m, desc, &reasons);
    gpuc_buf_deinit(&reasons);
    return s;
}
