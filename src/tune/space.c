/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the configurations that a function may have, by running its schedule with other answers to its
 * knobs. */
#include "tune/space.h"

#include <stdio.h>
#include <string.h>

enum { MAX_KNOBS = 128, MAX_KEY = 8192 };

/* What the schedule asks after some answers. */
typedef struct node {
    const gpuc_asked *knob; /* NULL: nothing more */
    bool impossible;        /* it has no schedule */
} node;

/* Answers, and them as text. */
typedef struct path {
    int n;
    gpuc_knob_value at[MAX_KNOBS];
    size_t length;
    char key[MAX_KEY];
} path;

struct gpuc_tune_space {
    gpuc_ctx *ctx;
    const gpuc_target *target;
    const gpuc_rfunction *f;
    gpuc_strmap nodes; /* key -> node */
    gpuc_strmap knobs; /* name -> gpuc_asked that a node has kept last: most have the same candidates as it */
    gpuc_strmap points; /* key -> gpuc_tune_point */
    path path;          /* of the walk that goes on */
};

gpuc_tune_space *gpuc_tune_space_create(gpuc_ctx *ctx, const gpuc_target *target, const gpuc_rfunction *f)
{
    gpuc_tune_space *s = gpuc_new(ctx, gpuc_tune_space);
    s->ctx = ctx;
    s->target = target;
    s->f = f;
    gpuc_strmap_init(&s->nodes, ctx);
    gpuc_strmap_init(&s->knobs, ctx);
    gpuc_strmap_init(&s->points, ctx);
    return s;
}

static void begin(path *p)
{
    p->n = 0;
    p->length = 0;
    p->key[0] = 0;
}

static void extend(gpuc_ctx *ctx, path *p, const char *name, int64_t value)
{
    size_t room = MAX_KEY - p->length;
    int n = snprintf(p->key + p->length, room, "%s=%lld ", name, (long long)value);
    if (n < 0 || (size_t)n >= room || p->n == MAX_KNOBS)
        gpuc_raise(ctx, GPUC_UNSUPPORTED, "a schedule asks for more than %d knobs", MAX_KNOBS);
    p->length += (size_t)n;
    p->at[p->n++] = (gpuc_knob_value){.name = name, .value = value};
}

static const gpuc_tune_point *point_of(gpuc_tune_space *s)
{
    const path *p = &s->path;
    const gpuc_tune_point *known = gpuc_strmap_get(&s->points, p->key);
    if (known) return known;
    const gpuc_config config = {.n = p->n, .at = p->at};
    gpuc_tune_point *out = gpuc_new(s->ctx, gpuc_tune_point);
    *out = (gpuc_tune_point){.key = gpuc_ctx_strdup(s->ctx, p->key),
                             .config = gpuc_config_copy(s->ctx, &config)};
    gpuc_strmap_set(&s->points, p->key, out);
    return out;
}

/* ---- Running the schedule ---- */

typedef struct run {
    gpuc_tune_space *space;
    int asked;
    gpuc_tune_choose_fn choose;
    void *user;
    gpuc_knobs knobs;
} run;

static int64_t answer(void *user, const gpuc_asked *knob)
{
    run *r = user;
    const path *known = &r->space->path;
    int i = r->asked++;
    return i < known->n ? known->at[i].value : r->choose(r->user, knob);
}

static void body(gpuc_ctx *ctx, void *arg)
{
    run *r = arg;
    const gpuc_rfunction *f = gpuc_compile_clone_function(ctx, r->space->f);
    gpuc_compile_schedule_function(ctx, r->space->target, f, &r->knobs);
}

static const gpuc_asked *keep_knob(gpuc_tune_space *s, const gpuc_asked *knob)
{
    gpuc_ctx *ctx = s->ctx;
    size_t bytes = sizeof *knob->candidates * (size_t)knob->n;
    const gpuc_asked *last = gpuc_strmap_get(&s->knobs, knob->name);
    gpuc_asked *copy = gpuc_ctx_memdup(ctx, knob, sizeof *knob);
    copy->name = last ? last->name : gpuc_ctx_strdup(ctx, knob->name);
    bool same = last && last->n == knob->n && !memcmp(last->candidates, knob->candidates, bytes);
    copy->candidates = same ? last->candidates : gpuc_ctx_memdup(ctx, knob->candidates, bytes);
    gpuc_strmap_set(&s->knobs, copy->name, copy);
    return copy;
}

static void keep_node(gpuc_tune_space *s, const gpuc_asked *knob, bool impossible)
{
    gpuc_ctx *ctx = s->ctx;
    if (gpuc_strmap_has(&s->nodes, s->path.key)) return;
    node *n = gpuc_new(ctx, node);
    n->impossible = impossible;
    if (knob) n->knob = keep_knob(s, knob);
    gpuc_strmap_set(&s->nodes, s->path.key, n);
}

/* Goes on from the path, to the end, by running the schedule. False: there is none for this. */
static bool explore(gpuc_tune_space *s, gpuc_tune_choose_fn choose, void *user)
{
    gpuc_ctx *scratch;
    GPUC_RAISE_IF(s->ctx, gpuc_ctx_create_child(s->ctx, &scratch));
    run r = {.space = s, .choose = choose, .user = user};
    r.knobs = (gpuc_knobs){.ctx = scratch, .choose = answer, .user = &r};
    gpuc_status status = gpuc_ctx_protect(scratch, body, &r);
    bool works = !status;
    gpuc_status_release(status);
    begin(&s->path);
    for (size_t i = 0; i < r.knobs.asked.count; i++) {
        const gpuc_asked *a = r.knobs.asked.at[i];
        keep_node(s, a, false);
        const node *kept = gpuc_strmap_get(&s->nodes, s->path.key);
        if (!kept->knob) break; /* a schedule whose questions depend on more than the answers */
        extend(s->ctx, &s->path, kept->knob->name, a->value);
    }
    keep_node(s, NULL, !works);
    gpuc_ctx_destroy(scratch);
    return works;
}

const gpuc_tune_point *gpuc_tune_space_walk(gpuc_tune_space *s, gpuc_tune_choose_fn choose, void *user)
{
    begin(&s->path);
    for (;;) {
        const node *n = gpuc_strmap_get(&s->nodes, s->path.key);
        if (!n) return explore(s, choose, user) ? point_of(s) : NULL;
        if (n->impossible) return NULL;
        if (!n->knob) return point_of(s);
        extend(s->ctx, &s->path, n->knob->name, choose(user, n->knob));
    }
}

static int64_t choose_own(void *user, const gpuc_asked *knob)
{
    (void)user;
    return knob->own;
}

const gpuc_tune_point *gpuc_tune_space_own(gpuc_tune_space *s)
{
    return gpuc_tune_space_walk(s, choose_own, NULL);
}

static int64_t choose_first(void *user, const gpuc_asked *knob)
{
    (void)user;
    return knob->candidates[0];
}

const gpuc_tune_point *gpuc_tune_space_first(gpuc_tune_space *s)
{
    return gpuc_tune_space_walk(s, choose_first, NULL);
}

typedef struct lookup {
    gpuc_ctx *ctx;
    const gpuc_config *config;
    const char *problem;
} lookup;

static int64_t choose_given(void *user, const gpuc_asked *knob)
{
    lookup *l = user;
    int64_t value = knob->own;
    if (!gpuc_config_get(l->config, knob->name, &value)) return knob->own;
    for (int i = 0; i < knob->n; i++)
        if (knob->candidates[i] == value) return value;
    l->problem = gpuc_ctx_printf(l->ctx, "knob %s cannot be %lld", knob->name, (long long)value);
    return knob->own;
}

const gpuc_tune_point *gpuc_tune_space_find(gpuc_tune_space *s, const gpuc_config *c, const char **problem)
{
    lookup l = {.ctx = s->ctx, .config = c};
    const gpuc_tune_point *p = gpuc_tune_space_walk(s, choose_given, &l);
    if (!p && !l.problem) l.problem = "it has no schedule";
    for (int i = 0; p && i < c->n && !l.problem; i++)
        if (!gpuc_config_get(p->config, c->at[i].name, &(int64_t){0}))
            l.problem =
                gpuc_ctx_printf(s->ctx, "the schedule of this function has no knob %s", c->at[i].name);
    *problem = l.problem;
    return l.problem ? NULL : p;
}
