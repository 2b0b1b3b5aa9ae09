/* SPDX-License-Identifier: Apache-2.0 */
/* Tickets of the CPU device. One that is done without an error is forgotten: a number that is not found is done. One
 * whose work failed is kept with its error, as the stream may go, or start afresh. */
#include <unistd.h>

#include "base/arena.h"
#include "runtime_cpu/stream.h"

#define MAX_FAILURES 1024 /* more of them tell nothing new */

static void free_ticket(gpuc_cpu_device *dev, gpuc_cpu_ticket *t)
{
    gpuc_status_release(t->error);
    gpuc_mem_free(dev->allocator, t, sizeof *t);
}

static void drop_oldest_failure(gpuc_cpu_device *dev)
{
    gpuc_cpu_ticket **at = &dev->failures;
    while ((*at)->next) at = &(*at)->next;
    free_ticket(dev, *at);
    *at = NULL;
    dev->num_failures--;
}

/* Takes out a ticket that is done. */
static void settle_locked(gpuc_cpu_device *dev, gpuc_cpu_ticket **at)
{
    gpuc_cpu_ticket *t = *at;
    *at = t->next;
    if (!*at) dev->tickets_end = at;
    t->error = gpuc_cpu_stream_error(t->stream, t->position);
    if (!t->error) {
        free_ticket(dev, t);
        return;
    }
    if (dev->num_failures == MAX_FAILURES) drop_oldest_failure(dev);
    t->stream = NULL;
    t->next = dev->failures;
    dev->failures = t;
    dev->num_failures++;
}

static bool is_done(const gpuc_cpu_ticket *t)
{
    return atomic_load(&t->stream->done) >= t->position;
}

void gpuc_cpu_tickets_settle_locked(gpuc_cpu_device *dev, const gpuc_cpu_stream *of)
{
    gpuc_cpu_ticket **at = &dev->tickets;
    while (*at)
        if ((*at)->stream == of && is_done(*at))
            settle_locked(dev, at);
        else
            at = &(*at)->next;
}

void gpuc_cpu_tickets_free(gpuc_cpu_device *dev)
{
    while (dev->failures) {
        gpuc_cpu_ticket *t = dev->failures;
        dev->failures = t->next;
        free_ticket(dev, t);
    }
}

gpuc_status gpuc_cpu_stream_signal(gpuc_device *device, gpuc_stream *stream, uint64_t *out)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s = gpuc_cpu_stream_of(dev, stream);
    *out = 0;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    uint64_t position = atomic_load(&s->queued);
    if (atomic_load(&s->done) >= position && !atomic_load(&s->failed)) return NULL;
    gpuc_cpu_ticket *t = gpuc_mem_alloc(dev->allocator, sizeof *t);
    if (!t) return gpuc_fail(GPUC_OUT_OF_MEMORY, "out of memory for a ticket of the CPU device");
    t->position = position;
    t->stream = s;
    pthread_mutex_lock(&dev->lock);
    while (dev->tickets && is_done(dev->tickets)) settle_locked(dev, &dev->tickets);
    *dev->tickets_end = t;
    dev->tickets_end = &t->next;
    *out = t->number = ++dev->last_ticket;
    pthread_mutex_unlock(&dev->lock);
    gpuc_cpu_stream_hand_over(s);
    return NULL;
}

static gpuc_cpu_ticket *find_locked(gpuc_cpu_ticket *list, uint64_t number)
{
    while (list && list->number != number) list = list->next;
    return list;
}

/* What went wrong in the work of a ticket that is done. */
static gpuc_status error_of(gpuc_cpu_device *dev, uint64_t number)
{
    gpuc_status status = NULL;
    pthread_mutex_lock(&dev->lock);
    const gpuc_cpu_ticket *t = find_locked(dev->tickets, number);
    if (t)
        status = gpuc_cpu_stream_error(t->stream, t->position);
    else if ((t = find_locked(dev->failures, number)))
        status = gpuc_error_make(gpuc_status_code(t->error), gpuc_status_file(t->error),
                                 gpuc_status_line(t->error), "%s", gpuc_status_message(t->error));
    pthread_mutex_unlock(&dev->lock);
    return status;
}

/* The stream of a ticket, with a reference, and the position in it; NULL: the ticket is done. */
static gpuc_status find_ticket(gpuc_cpu_device *dev, uint64_t number, gpuc_cpu_stream **out,
                               uint64_t *out_position)
{
    *out = NULL;
    pthread_mutex_lock(&dev->lock);
    gpuc_status status = gpuc_device_check_ticket(&dev->base, number, dev->last_ticket);
    const gpuc_cpu_ticket *t = find_locked(dev->tickets, number);
    if (t) {
        *out = t->stream;
        *out_position = t->position;
        atomic_fetch_add_explicit(&t->stream->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&dev->lock);
    return status;
}

gpuc_status gpuc_cpu_stream_wait(gpuc_device *device, gpuc_stream *stream, uint64_t ticket)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s = gpuc_cpu_stream_of(dev, stream), *other;
    gpuc_cpu_record *r;
    uint64_t position;
    GPUC_TRY(gpuc_device_check_stream(device, stream));
    GPUC_TRY(find_ticket(dev, ticket, &other, &position));
    if (!other) return NULL;
    bool over = other == s || (atomic_load(&other->done) >= position && !atomic_load(&other->failed));
    gpuc_status status = NULL;
    if (!over) {
        pthread_mutex_lock(&s->append_lock);
        status = gpuc_cpu_queue_reserve(s, 0, 0, &r);
        if (!status) {
            r->other = other;
            r->amount = position;
            gpuc_cpu_queue_publish(s, r);
        }
        pthread_mutex_unlock(&s->append_lock);
    }
    if (over || status) gpuc_cpu_stream_unref(other);
    return status;
}

/* Where the process was forked off, the thread that was to run the stream is the parent's. */
static void see_to(gpuc_cpu_stream *s)
{
    if (atomic_load(&s->process) != getpid()) gpuc_cpu_stream_hand_over(s);
}

gpuc_status gpuc_cpu_ticket_wait(gpuc_device *device, uint64_t ticket, int64_t timeout_ns, bool *out_done)
{
    gpuc_cpu_device *dev = (gpuc_cpu_device *)device;
    gpuc_cpu_stream *s;
    uint64_t position;
    *out_done = false;
    GPUC_TRY(find_ticket(dev, ticket, &s, &position));
    if (s && atomic_load(&s->done) < position) {
        if (timeout_ns == GPUC_FOREVER)
            gpuc_cpu_stream_run_to(s, position);
        else if (timeout_ns > 0)
            gpuc_cpu_stream_wait_until(s, position, timeout_ns);
        else
            see_to(s);
    }
    *out_done = !s || atomic_load(&s->done) >= position;
    if (s) gpuc_cpu_stream_unref(s);
    return *out_done ? error_of(dev, ticket) : NULL;
}
