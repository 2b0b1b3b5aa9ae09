/* SPDX-License-Identifier: Apache-2.0 */
/* Prints tuning records as JSON lines, and reads them back. */
#include "tune/log.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/names.h"
#include "compile/tuning.h"

enum { MAX_KNOBS = 256, MAX_NAME = 48, MAX_LINE = 1 << 20 };

void gpuc_tune_warn(const gpuc_tune_warnings *w, gpuc_ctx *ctx, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    if (!w || !w->fn) return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    w->fn(w->user, gpuc_ctx_strdup(ctx, text));
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double gpuc_tune_seconds(const gpuc_tune_record *r)
{
    double sorted[GPUC_TUNE_MAX_COSTS];
    int n = r->num_costs;
    if (strcmp(r->status, GPUC_TUNE_OK) || n < 1 || n > GPUC_TUNE_MAX_COSTS) return (double)INFINITY;
    memcpy(sorted, r->costs, sizeof *sorted * (size_t)n);
    qsort(sorted, (size_t)n, sizeof *sorted, compare);
    return n % 2 ? sorted[n / 2] : 0.5 * (sorted[n / 2 - 1] + sorted[n / 2]);
}

/* ---- Printing ---- */

static void delete_json(void *json)
{
    cJSON_Delete(json);
}

const char *gpuc_tune_record_text(gpuc_ctx *ctx, const gpuc_tune_record *r)
{
    cJSON *o = cJSON_CreateObject(), *config = cJSON_CreateObject();
    gpuc_ctx_push_cleanup(ctx, delete_json, o);
    cJSON_AddNumberToObject(o, "v", GPUC_TUNE_LOG_VERSION);
    cJSON_AddStringToObject(o, "workload", r->workload);
    cJSON_AddStringToObject(o, "task", r->task);
    cJSON_AddStringToObject(o, "target", r->target);
    cJSON_AddItemToObject(o, "config", config);
    for (int i = 0; i < r->config->n; i++)
        cJSON_AddNumberToObject(config, r->config->at[i].name, (double)r->config->at[i].value);
    cJSON_AddItemToObject(o, "costs", cJSON_CreateDoubleArray(r->costs, r->num_costs));
    cJSON_AddStringToObject(o, "status", r->status);
    cJSON_AddStringToObject(o, "device", r->device);
    cJSON_AddStringToObject(o, "driver", r->driver);
    cJSON_AddStringToObject(o, "version", r->version);
    cJSON_AddNumberToObject(o, "time", (double)r->time);
    char *text = cJSON_PrintUnformatted(o);
    if (!text) gpuc_raise(ctx, GPUC_OUT_OF_MEMORY, "printing a tuning record: out of memory");
    const char *out = gpuc_ctx_printf(ctx, "%s\n", text);
    cJSON_free(text);
    gpuc_ctx_pop_cleanup(ctx, true);
    return out;
}

/* ---- Parsing ---- */

typedef struct parser {
    gpuc_ctx *ctx;
    const cJSON *object;
    const char *problem;
} parser;

static void bad(parser *p, const char *what)
{
    if (!p->problem) p->problem = what;
}

static const char *text_of(parser *p, const char *name, bool required)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(p->object, name);
    if (cJSON_IsString(item)) return gpuc_ctx_strdup(p->ctx, item->valuestring);
    if (item || required) bad(p, gpuc_ctx_printf(p->ctx, "its \"%s\" is not a string", name));
    return "";
}

static bool integer(const cJSON *item, int64_t *out)
{
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) <= 0x1p53) ||
        item->valuedouble != floor(item->valuedouble))
        return false;
    *out = (int64_t)item->valuedouble;
    return true;
}

static bool is_name(const char *s)
{
    size_t n = strlen(s);
    return n > 0 && n <= MAX_NAME &&
           strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.") == n;
}

/* The present name of a knob; "turns.2" is the second knob of that name. */
static const char *knob_name(gpuc_ctx *ctx, const char *name)
{
    size_t n = strcspn(name, ".");
    return gpuc_ctx_printf(ctx, "%s%s", gpuc_names_now("knob", gpuc_ctx_printf(ctx, "%.*s", (int)n, name)),
                           name + n);
}

static const char *target_name(gpuc_ctx *ctx, const char *text)
{
    gpuc_buf out;
    gpuc_buf_init(&out, ctx->allocator);
    gpuc_names_target(&out, text);
    const char *now = gpuc_ctx_strdup(ctx, gpuc_buf_cstr(&out));
    gpuc_buf_deinit(&out);
    return now;
}

static const gpuc_config *config_of(parser *p)
{
    const cJSON *object = cJSON_GetObjectItemCaseSensitive(p->object, "config"), *item;
    gpuc_config *c = gpuc_new(p->ctx, gpuc_config);
    int n = cJSON_IsObject(object) ? cJSON_GetArraySize(object) : -1;
    if (n < 0 || n > MAX_KNOBS) {
        bad(p, "its \"config\" is not an object of knobs");
        return c;
    }
    gpuc_knob_value *at = gpuc_new_array(p->ctx, gpuc_knob_value, n);
    cJSON_ArrayForEach(item, object)
    {
        int64_t value = 0;
        bool known;
        if (!is_name(item->string) || !integer(item, &value)) {
            bad(p, "a knob of its \"config\" is not a name with an integer");
            return c;
        }
        const char *name = knob_name(p->ctx, item->string);
        c->at = at;
        known = gpuc_config_get(c, name, &(int64_t){0});
        if (known) bad(p, "its \"config\" names a knob twice");
        at[c->n++] = (gpuc_knob_value){.name = name, .value = value};
    }
    c->at = at;
    return c;
}

static void read_costs(parser *p, gpuc_tune_record *r)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(p->object, "costs"), *item;
    int n = cJSON_IsArray(array) ? cJSON_GetArraySize(array) : -1;
    if (n < 0 || n > GPUC_TUNE_MAX_COSTS) {
        bad(p, "its \"costs\" are not a list of seconds");
        return;
    }
    double *costs = gpuc_new_array(p->ctx, double, n);
    r->costs = costs;
    cJSON_ArrayForEach(item, array)
    {
        if (cJSON_IsNumber(item) && isfinite(item->valuedouble) && item->valuedouble > 0)
            costs[r->num_costs++] = item->valuedouble;
        else
            bad(p, "its \"costs\" are not a list of seconds");
    }
}

static bool is_workload(const char *s)
{
    return strlen(s) == 16 && strspn(s, "0123456789abcdef") == 16;
}

gpuc_tune_record *gpuc_tune_record_parse(gpuc_ctx *ctx, const char *line, size_t size, const char **problem)
{
    parser p = {.ctx = ctx};
    gpuc_tune_record *r = gpuc_new(ctx, gpuc_tune_record);
    int64_t version = 0;
    const char *end = NULL;
    cJSON *object = size <= MAX_LINE ? cJSON_ParseWithLengthOpts(line, size, &end, false) : NULL;
    *problem = "it is no JSON object";
    while (object && end < line + size && strchr(" \t\r", *end)) end++;
    if (!cJSON_IsObject(object) || end != line + size) {
        cJSON_Delete(object);
        return NULL;
    }
    gpuc_ctx_push_cleanup(ctx, delete_json, object);
    p.object = object;
    if (!integer(cJSON_GetObjectItemCaseSensitive(object, "v"), &version))
        bad(&p, "it has no version \"v\"");
    else if (version != GPUC_TUNE_LOG_VERSION)
        bad(&p, gpuc_ctx_printf(ctx, "it is of version %lld, this gpuc reads version %d", (long long)version,
                                GPUC_TUNE_LOG_VERSION));
    r->workload = text_of(&p, "workload", true);
    r->task = text_of(&p, "task", false);
    r->target = target_name(ctx, text_of(&p, "target", true));
    r->config = config_of(&p);
    read_costs(&p, r);
    r->status = text_of(&p, "status", true);
    r->device = text_of(&p, "device", false);
    r->driver = text_of(&p, "driver", false);
    r->version = text_of(&p, "version", false);
    integer(cJSON_GetObjectItemCaseSensitive(object, "time"), &r->time);
    if (!is_workload(r->workload)) bad(&p, "its \"workload\" is not 16 hexadecimal digits");
    if (!strcmp(r->status, GPUC_TUNE_OK) && r->num_costs == 0) bad(&p, "it has no \"costs\"");
    gpuc_ctx_pop_cleanup(ctx, true);
    *problem = p.problem;
    return p.problem ? NULL : r;
}

/* ---- Files ---- */

typedef struct reading {
    const char *path;
    const gpuc_mapping *map;
    const gpuc_tune_warnings *w;
    gpuc_ptrs *records;
} reading;

static void read_lines(gpuc_ctx *ctx, const reading *r)
{
    const char *at = (const char *)r->map->data, *end = at + r->map->size;
    for (int number = 1; at < end; number++) {
        const char *problem, *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) {
            gpuc_tune_warn(r->w, ctx, "%s:%d: the last line was cut off, and is left out", r->path, number);
            return;
        }
        gpuc_tune_record *record = NULL;
        bool blank = strspn(at, " \t\r") >= (size_t)(stop - at);
        if (!blank) record = gpuc_tune_record_parse(ctx, at, (size_t)(stop - at), &problem);
        if (record) gpuc_ptrs_push(ctx, r->records, record);
        if (!record && !blank)
            gpuc_tune_warn(r->w, ctx, "%s:%d: no tuning record, and left out: %s", r->path, number, problem);
        at = stop + 1;
    }
}

static void unmap(void *arg)
{
    gpuc_file_unmap(arg);
}

static void read_log(gpuc_ctx *ctx, const char *path, const gpuc_tune_warnings *w, gpuc_ptrs *records)
{
    gpuc_mapping *map = gpuc_new(ctx, gpuc_mapping);
    GPUC_RAISE_IF(ctx, gpuc_error_prefix(gpuc_file_map(path, map), "tuning log"));
    gpuc_ctx_push_cleanup(ctx, unmap, map);
    read_lines(ctx, &(reading){.path = path, .map = map, .w = w, .records = records});
    gpuc_ctx_pop_cleanup(ctx, true);
}

gpuc_tune_records gpuc_tune_logs_read(gpuc_ctx *ctx, int num_logs, const char *const *paths,
                                      const gpuc_tune_warnings *warnings)
{
    gpuc_ptrs records = {0};
    for (int i = 0; i < num_logs; i++) read_log(ctx, paths[i], warnings, &records);
    return (gpuc_tune_records){.at = (const gpuc_tune_record *const *)records.at, .count = records.count};
}

static gpuc_status put(int fd, const char *path, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t n = write(fd, data, size);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return gpuc_file_error(errno, "cannot write tuning log", path);
        data += n;
        size -= (size_t)n;
    }
    return NULL;
}

static gpuc_status end_last_line(int fd, const char *path)
{
    char last = '\n';
    struct stat st;
    if (fstat(fd, &st) != 0) return gpuc_file_error(errno, "cannot read tuning log", path);
    if (!S_ISREG(st.st_mode))
        return gpuc_fail(GPUC_IO, "cannot use '%s' as a tuning log: it is not a regular file", path);
    if (st.st_size > 0 && pread(fd, &last, 1, st.st_size - 1) != 1)
        return gpuc_file_error(errno, "cannot read tuning log", path);
    return last == '\n' ? NULL : put(fd, path, "\n", 1);
}

gpuc_status gpuc_tune_log_open(const char *path, int *fd)
{
    *fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    if (*fd < 0) return gpuc_file_error(errno, "cannot open tuning log", path);
    gpuc_status status = end_last_line(*fd, path);
    if (!status) return NULL;
    close(*fd);
    *fd = -1;
    return status;
}

gpuc_status gpuc_tune_log_append(int fd, const char *path, const char *line)
{
    return put(fd, path, line, strlen(line));
}

/* ---- For builds ---- */

gpuc_tuning *gpuc_tuning_load(gpuc_ctx *ctx, int num_logs, const char *const *paths,
                              void (*warning)(void *user, const char *text), void *warning_user)
{
    gpuc_tuning *out = gpuc_compile_tuning_create(ctx);
    gpuc_tune_warnings w = {.fn = warning, .user = warning_user};
    for (int i = 0; i < num_logs; i++) {
        gpuc_ptrs records = {0};
        const char *slash = strrchr(paths[i], '/');
        read_log(ctx, paths[i], &w, &records);
        for (size_t k = 0; k < records.count; k++) {
            const gpuc_tune_record *r = records.at[k];
            gpuc_tuned tuned = {
                .config = r->config, .seconds = gpuc_tune_seconds(r), .source = slash ? slash + 1 : paths[i]};
            if (isfinite(tuned.seconds)) gpuc_compile_tuning_add(ctx, out, r->workload, r->target, &tuned);
        }
    }
    return out;
}
