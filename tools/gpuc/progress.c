/* SPDX-License-Identifier: Apache-2.0 */
/* The thread writes with write(2), without stdio's locks and without memory: verify forks beside it. */
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

#define DELAY 1.0 /* seconds before the line appears */
#define PERIOD_NS 200000000

static void put(const char *text)
{
    size_t left = strlen(text);
    while (left > 0) {
        ssize_t n = write(STDERR_FILENO, text, left);
        if (n <= 0) return;
        text += n;
        left -= (size_t)n;
    }
}

static void draw(cli_progress *p)
{
    char line[192];
    double seconds = cli_now() - p->start;
    if (p->hidden || seconds < DELAY) return;
    if (p->total > 0)
        snprintf(line, sizeof line, "\r\033[K%s %d/%d (%.0f s)", p->what, p->done, p->total, seconds);
    else
        snprintf(line, sizeof line, "\r\033[K%s (%.0f s)", p->what, seconds);
    put(line);
    p->shown = true;
}

static void *ticker(void *arg)
{
    cli_progress *p = arg;
    pthread_mutex_lock(&p->mutex);
    while (!p->ends) {
        struct timespec t;
        draw(p);
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_nsec += PERIOD_NS;
        t.tv_sec += t.tv_nsec / 1000000000;
        t.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&p->wake, &p->mutex, &t);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

void cli_progress_start(cli_progress *p, const char *what)
{
    *p = (cli_progress){.terminal = isatty(STDERR_FILENO), .start = cli_now()};
    snprintf(p->what, sizeof p->what, "%s", what);
    if (!p->terminal) return;
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->wake, NULL);
    /* Signals go to the threads that know what to do about them. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    p->terminal = pthread_create(&p->thread, NULL, ticker, p) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void cli_progress_show(void *progress, const char *what, int done, int total)
{
    cli_progress *p = progress;
    if (!p->terminal) return;
    pthread_mutex_lock(&p->mutex);
    snprintf(p->what, sizeof p->what, "%s", what);
    p->done = done;
    p->total = total;
    p->hidden = false;
    pthread_mutex_unlock(&p->mutex);
}

void cli_progress_clear(cli_progress *p)
{
    if (!p->terminal) return;
    pthread_mutex_lock(&p->mutex);
    if (p->shown) put("\r\033[K");
    p->shown = false;
    p->hidden = true;
    pthread_mutex_unlock(&p->mutex);
}

void cli_progress_end(cli_progress *p)
{
    if (!p->terminal) return;
    cli_progress_clear(p);
    pthread_mutex_lock(&p->mutex);
    p->ends = true;
    pthread_cond_signal(&p->wake);
    pthread_mutex_unlock(&p->mutex);
    pthread_join(p->thread, NULL);
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->wake);
    p->terminal = false;
}
