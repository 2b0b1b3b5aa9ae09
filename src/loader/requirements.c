/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a program's requirements against the devices that are to run it. */
#include "loader/loader.h"

#include <string.h>

#include "abi/elf.h"

static const struct {
    const char *name; /* of the target's attribute */
    gpuc_device_attr attr;
} limits[] = {
#define GPUC_LIMIT(target, device, filled) {#target, GPUC_ATTR_##device},
#include "abi/limits.def"
#undef GPUC_LIMIT
};

static const char *device_name(gpuc_device *dev)
{
    gpuc_attr_value v = gpuc_device_get_attr(dev, GPUC_ATTR_NAME);
    return v.known && v.s ? v.s : dev->api->name;
}

static gpuc_status check_feature(const gpuc_requirement *r, gpuc_device *dev, gpuc_feature feature)
{
    gpuc_attr_value have = gpuc_device_get_attr(dev, GPUC_ATTR_FEATURES);
    if (r->at_least <= 0 || (have.i & feature)) return NULL;
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "it needs %s, which '%s' does not have", r->name,
                     device_name(dev));
}

/* A device that does not know a limit has none. */
static gpuc_status check_limit(const gpuc_requirement *r, gpuc_device *dev, gpuc_device_attr attr)
{
    gpuc_attr_value have = gpuc_device_get_attr(dev, attr);
    if (!have.known || have.i >= r->at_least) return NULL;
    return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, "it needs %s of at least %lld, '%s' has %lld", r->name,
                     (long long)r->at_least, device_name(dev), (long long)have.i);
}

static gpuc_status check_one(const gpuc_requirement *r, gpuc_device *dev)
{
    for (int i = 0; i < GPUC_FEATURE_COUNT; i++)
        if (strcmp(r->name, gpuc_feature_name((gpuc_feature)(1 << i))) == 0)
            return check_feature(r, dev, (gpuc_feature)(1 << i));
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (strcmp(r->name, limits[i].name) == 0) return check_limit(r, dev, limits[i].attr);
    return gpuc_fail(GPUC_UNSUPPORTED, "it needs '%.64s', which this version of gpuc does not know", r->name);
}

/* The number of loop iterations if it is constant; 0 if it depends on scalars: segments.c checks it when they
 * are known. */
static int64_t constant_iterations(const gpuc_kernel *k)
{
    return k->iterations.count == 1 && k->iterations.code->op == GPUC_XOP_CONST ? k->iterations.code->value
                                                                                : 0;
}

/* Checks that each kernel, or a variant of it, is within the device's limit of loop iterations. */
static gpuc_status check_iterations(const gpuc_program *p, gpuc_device *dev)
{
    int64_t max = gpuc_device_get_attr(dev, GPUC_ATTR_MAX_ITERATIONS).i;
    for (uint32_t k = 0; max && k < p->num_kernels; k++) {
        int64_t iterations = constant_iterations(&p->kernels[k]), min = iterations;
        if (p->kernels[k].variant) continue;
        for (uint32_t v = k + 1; v < p->num_kernels && p->kernels[v].variant; v++)
            if (constant_iterations(&p->kernels[v]) < min) min = constant_iterations(&p->kernels[v]);
        if (min > max)
            return gpuc_fail(GPUC_DEVICE_UNAVAILABLE, GPUC_TOO_MANY_ITERATIONS, p->kernels[k].label,
                             (long long)min, device_name(dev), (long long)max);
    }
    return NULL;
}

/* Checks a requirement of CPU code, which programs for other devices have too, for their fallback device. */
static gpuc_status check_cpu(const gpuc_requirement *r, gpuc_device *const *devices, uint32_t num_devices)
{
    for (uint32_t d = 0; d < num_devices; d++)
        if (devices[d]->type == GPUC_DEVICE_CPU)
            return gpuc_device_check_instruction_set(devices[d], r->name);
    return NULL;
}

static bool is_native(const gpuc_module_blob *m)
{
    return strcmp(m->type_key, "cpu_so") == 0;
}

/* Code that is damaged is for who loads it to tell. */
static gpuc_status check_machine(const gpuc_program *p)
{
    for (uint32_t i = 0; i < p->num_modules; i++) {
        const gpuc_module_blob *m = &p->modules[i];
        bool own;
        if (is_native(m) && gpuc_abi_elf_machine(m->bytes, m->size, &own) && !own)
            return gpuc_abi_elf_check(m->bytes, m->size);
    }
    return NULL;
}

gpuc_status gpuc_loader_check_requirements(const gpuc_program *p, gpuc_device *const *devices,
                                           uint32_t num_devices)
{
    GPUC_TRY(check_machine(p));
    for (uint32_t i = 0; i < p->num_requirements; i++) {
        const gpuc_requirement *r = &p->requirements[i];
        bool cpu = strncmp(r->name, "cpu.", 4) == 0;
        GPUC_TRY(cpu ? check_cpu(r, devices, num_devices) : check_one(r, devices[0]));
    }
    return check_iterations(p, devices[0]);
}

gpuc_status gpuc_loader_check_native_code(const gpuc_program *p, bool allowed)
{
    for (uint32_t i = 0; !allowed && i < p->num_modules; i++)
        if (is_native(&p->modules[i]))
            return gpuc_fail(
                GPUC_INVALID_ARGUMENT,
                "it contains native code, which runs unchecked; load it with allow_native_code if you "
                "trust the package (GPUC_LOAD_NATIVE_CODE for a library)");
    return NULL;
}
