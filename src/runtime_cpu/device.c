/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the CPU device, and runs its kernels' parallel loops on the pool or on the application's threads. */
#include "runtime_cpu/cpu.h"

#include "base/arena.h"

static void loop_in_pool(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                         void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    gpuc_cpu_pool_run(env->host, begin, end, body, arg);
}

static void loop_in_application(const gpuc_cpu_env *env, int64_t begin, int64_t end,
                                void (*body)(void *arg, int64_t begin, int64_t end), void *arg)
{
    const gpuc_parallel *p = env->host;
    if (begin < end) p->run(p->user, begin, end, body, arg);
}

gpuc_cpu_env gpuc_cpu_env_of(const gpuc_parallel *p)
{
    return (gpuc_cpu_env){
        .struct_size = sizeof(gpuc_cpu_env), .parallel_for = loop_in_application, .host = (void *)p};
}

static void destroy(gpuc_device *device)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    if (dev->main) gpuc_cpu_stream_free(device, (gpuc_stream *)dev->main);
    gpuc_cpu_tickets_free(dev);
    gpuc_cpu_pool_destroy(dev->pool);
    pthread_mutex_destroy(&dev->lock);
    gpuc_mem_free(dev->allocator, dev, sizeof *dev);
}

gpuc_status gpuc_cpu_device_open(gpuc_runtime *rt, gpuc_device **out)
{
    *out = NULL;
    gpuc_allocator a = gpuc_runtime_allocator(rt);
    const gpuc_runtime_desc *desc = gpuc_runtime_get_desc(rt);
    gpuc_cpu_device *dev = gpuc_mem_alloc(a, sizeof *dev);
    if (!dev) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory opening the CPU device");
    dev->base.runtime = rt;
    dev->allocator = a;
    dev->num_threads = desc->num_threads > 0 ? desc->num_threads : gpuc_cpu_online_processors();
    dev->parallel = (gpuc_parallel){.run = desc->parallel_for, .user = desc->parallel_user};
    dev->env = gpuc_cpu_env_of(&dev->parallel);
    dev->tickets_end = &dev->tickets;
    pthread_mutex_init(&dev->lock, NULL);
    gpuc_cpu_query(dev);
    gpuc_status s = NULL;
    if (!desc->parallel_for) {
        s = gpuc_cpu_pool_create(a, dev->num_threads, &dev->pool);
        dev->env.parallel_for = loop_in_pool;
        dev->env.host = dev->pool;
    }
    gpuc_stream *main = NULL;
    if (!s) s = gpuc_cpu_stream_create(&dev->base, &main);
    dev->main = (gpuc_cpu_stream *)main;
    if (s) {
        destroy(&dev->base);
        return s;
    }
    *out = &dev->base;
    return NULL;
}

const gpuc_device_api gpuc_cpu_api = {
    .struct_size = sizeof(gpuc_device_api),
    .get_attr = gpuc_cpu_get_attr,
    .alloc_data_space = gpuc_cpu_alloc,
    .free_data_space = gpuc_cpu_free,
    .copy_data_from_to = gpuc_cpu_copy,
    .read_later = gpuc_cpu_read_later,
    .create_stream = gpuc_cpu_stream_create,
    .free_stream = gpuc_cpu_stream_free,
    .stream_sync = gpuc_cpu_stream_sync,
    .stream_flush = gpuc_cpu_stream_flush,
    .stream_signal = gpuc_cpu_stream_signal,
    .stream_wait = gpuc_cpu_stream_wait,
    .ticket_wait = gpuc_cpu_ticket_wait,
    .module_load = gpuc_cpu_module_load,
    .module_release = gpuc_cpu_module_release,
    .kernel_get = gpuc_cpu_kernel_get,
    .launch = gpuc_cpu_launch,
    .plan_create = gpuc_cpu_plan_create,
    .plan_run = gpuc_cpu_plan_run,
    .plan_units = gpuc_cpu_plan_units,
    .plan_run_part = gpuc_cpu_plan_run_part,
    .plan_set_parallel = gpuc_cpu_plan_set_parallel,
    .plan_profile = gpuc_cpu_plan_profile,
    .plan_destroy = gpuc_cpu_plan_destroy,
    .destroy = destroy,
};
