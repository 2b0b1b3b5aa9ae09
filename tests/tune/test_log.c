/* SPDX-License-Identifier: Apache-2.0 */
/* Tuning logs: what is written is read, and what is not a record is left out with a warning. */
#include <unistd.h>

#include "../relay/fixture.h"
#include "base/file.h"
#include "compile/tuning.h"
#include "tune/log.h"

#define WORKLOAD "0123456789abcdef"

/* Warnings, joined. */
typedef struct heard {
    char text[8192];
    int count;
} heard;

static void hear(void *user, const char *text)
{
    heard *h = user;
    size_t n = strlen(h->text);
    snprintf(h->text + n, sizeof h->text - n, "%s\n", text);
    h->count++;
}

static const char *path_of_test(gpuc_ctx *ctx)
{
    return gpuc_ctx_printf(ctx, "%s/gpuc-test-log-%d.jsonl", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp",
                           (int)getpid());
}

static const gpuc_knob_value knobs[] = {{"rows", 4}, {"lanes.2", 16}, {"pack", 0}, {"big", INT64_C(1) << 52}};
static const gpuc_config config = {.n = 4, .at = knobs};
static const double costs[] = {0.3, 0.1, 0.2000000000000001};

static gpuc_tune_record sample(void)
{
    return (gpuc_tune_record){
        .workload = WORKLOAD,
        .task = "conv2d(float32[1,64,56,56])",
        .target = "opencl/pocl",
        .config = &config,
        .num_costs = 3,
        .costs = costs,
        .status = GPUC_TUNE_OK,
        .device = "a \"quoted\"\nname \xc3\xa4",
        .driver = "1.0",
        .version = "0.1.0",
        .time = 1700000000,
    };
}

static void append(gpuc_ctx *ctx, const char *path, const gpuc_tune_record *r)
{
    int fd;
    GPUC_RAISE_IF(ctx, gpuc_tune_log_open(path, &fd));
    GPUC_RAISE_IF(ctx, gpuc_tune_log_append(fd, path, gpuc_tune_record_text(ctx, r)));
    close(fd);
}

static gpuc_tune_records read_all(gpuc_ctx *ctx, const char *path, heard *h)
{
    memset(h, 0, sizeof *h);
    return gpuc_tune_logs_read(ctx, 1, &path, &(gpuc_tune_warnings){.fn = hear, .user = h});
}

static void round_trip(gpuc_ctx *ctx, void *arg)
{
    const char *path = path_of_test(ctx);
    gpuc_tune_record r = sample(), failed = sample();
    heard h;
    (void)arg;
    failed.status = "timeout";
    failed.num_costs = 0;
    remove(path);
    append(ctx, path, &r);
    append(ctx, path, &failed);
    gpuc_tune_records records = read_all(ctx, path, &h);
    assert_int_equal(records.count, 2);
    assert_int_equal(h.count, 0);
    const gpuc_tune_record *got = records.at[0];
    assert_string_equal(got->workload, r.workload);
    assert_string_equal(got->task, r.task);
    assert_string_equal(got->target, r.target);
    assert_string_equal(got->status, r.status);
    assert_string_equal(got->device, r.device);
    assert_string_equal(got->driver, r.driver);
    assert_string_equal(got->version, r.version);
    assert_true(got->time == r.time);
    assert_int_equal(got->config->n, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(got->config->at[i].name, knobs[i].name);
        assert_true(got->config->at[i].value == knobs[i].value);
    }
    assert_int_equal(got->num_costs, 3);
    for (int i = 0; i < 3; i++) assert_true(got->costs[i] == costs[i]);
    assert_true(gpuc_tune_seconds(got) == costs[2]);
    assert_true(gpuc_tune_seconds(records.at[1]) > 1e300);
    remove(path);
}

/* A line with one field replaced, and a word of the warning. */
static const struct bad_line {
    const char *line, *word;
} bad_lines[] = {
    {"garbage", "no JSON object"},
    {"[1, 2]", "no JSON object"},
    {"{\"v\":1", "no JSON object"},
    {"{\"v\":1} {\"v\":1}", "no JSON object"},
    {"{}", "no version"},
    {"{\"v\":2,\"workload\":\"" WORKLOAD "\"}", "version 2"},
    {"{\"v\":1,\"workload\":\"xyz\",\"target\":\"c\",\"config\":{},\"costs\":[1],\"status\":\"ok\"}",
     "hexadecimal"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD "\",\"config\":{},\"costs\":[1],\"status\":\"ok\"}", "target"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD "\",\"target\":\"c\",\"costs\":[1],\"status\":\"ok\"}", "config"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD
     "\",\"target\":\"c\",\"config\":{\"rows\":1.5},\"costs\":[1],\"status\":\"ok\"}",
     "config"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD
     "\",\"target\":\"c\",\"config\":{\"a b\":1},\"costs\":[1],\"status\":\"ok\"}",
     "config"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD
     "\",\"target\":\"c\",\"config\":{\"a\":1,\"a\":2},\"costs\":[1],\"status\":\"ok\"}",
     "twice"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD
     "\",\"target\":\"c\",\"config\":{},\"costs\":[-1],\"status\":\"ok\"}",
     "costs"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD "\",\"target\":\"c\",\"config\":{},\"costs\":[],\"status\":\"ok\"}",
     "costs"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD
     "\",\"target\":\"c\",\"config\":{},\"costs\":[1e999],\"status\":\"ok\"}",
     "costs"},
    {"{\"v\":1,\"workload\":\"" WORKLOAD "\",\"target\":7,\"config\":{},\"costs\":[1],\"status\":\"ok\"}",
     "target"},
};

static void put_file(gpuc_ctx *ctx, const char *path, const char *text)
{
    remove(path);
    GPUC_RAISE_IF(ctx, gpuc_file_put(NULL, path, text, strlen(text)));
}

static void bad_records(gpuc_ctx *ctx, void *arg)
{
    const char *path = path_of_test(ctx);
    heard h;
    (void)arg;
    for (size_t i = 0; i < sizeof bad_lines / sizeof *bad_lines; i++) {
        put_file(ctx, path, gpuc_ctx_printf(ctx, "\n%s\n", bad_lines[i].line));
        assert_int_equal(read_all(ctx, path, &h).count, 0);
        assert_int_equal(h.count, 1);
        if (!strstr(h.text, bad_lines[i].word) || !strstr(h.text, ".jsonl:2: "))
            fail_msg("'%s' for %s", h.text, bad_lines[i].line);
    }
    remove(path);
}

/* What a process that was killed left; the next one goes on behind it. */
static void torn_line(gpuc_ctx *ctx, void *arg)
{
    const char *path = path_of_test(ctx);
    gpuc_tune_record r = sample();
    heard h;
    (void)arg;
    remove(path);
    append(ctx, path, &r);
    FILE *f = fopen(path, "a");
    fputs("{\"v\":1,\"workload\":\"0123", f);
    fclose(f);
    assert_int_equal(read_all(ctx, path, &h).count, 1);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text, ":2: the last line was cut off"));
    append(ctx, path, &r);
    assert_int_equal(read_all(ctx, path, &h).count, 2);
    assert_int_equal(h.count, 1);
    assert_non_null(strstr(h.text, ":2: no tuning record"));
    remove(path);
}

static void every_prefix(gpuc_ctx *ctx, void *arg)
{
    gpuc_tune_record r = sample();
    const char *problem, *line = gpuc_tune_record_text(ctx, &r);
    size_t size = strlen(line);
    (void)arg;
    for (size_t n = 0; n + 1 < size; n++) {
        char *copy = malloc(n + 1); /* the sanitizer sees what lies beyond */
        memcpy(copy, line, n);
        gpuc_tune_record *got = gpuc_tune_record_parse(ctx, copy, n, &problem);
        free(copy);
        if (n + 1 < size - 1) assert_null(got);
    }
}

static void best_of_logs(gpuc_ctx *ctx, void *arg)
{
    const char *path = path_of_test(ctx);
    gpuc_tune_record r = sample();
    const gpuc_knob_value one[] = {{"rows", 1}}, two[] = {{"rows", 2}};
    const gpuc_config first = {1, one}, second = {1, two};
    heard h = {.count = 0};
    (void)arg;
    remove(path);
    for (int i = 0; i < 3; i++) {
        const double seconds[] = {i == 1 ? 1e-3 : 2e-3};
        r.config = i == 1 ? &second : &first;
        r.costs = seconds;
        r.num_costs = 1;
        append(ctx, path, &r);
    }
    r.target = "c";
    append(ctx, path, &r);
    gpuc_tuning *t = gpuc_tuning_load(ctx, 1, &path, hear, &h);
    const gpuc_tuned *best = gpuc_compile_tuning_find(ctx, t, WORKLOAD, "opencl/pocl");
    assert_int_equal(h.count, 0);
    assert_non_null(best);
    assert_int_equal(best->config->at[0].value, 2);
    assert_string_equal(best->source, strrchr(path, '/') + 1);
    assert_int_equal(gpuc_compile_tuning_find(ctx, t, WORKLOAD, "c")->config->at[0].value, 1);
    assert_null(gpuc_compile_tuning_find(ctx, t, WORKLOAD, "vulkan"));
    assert_null(gpuc_compile_tuning_find(ctx, t, "0123456789abcdee", "c"));
    assert_null(gpuc_compile_tuning_find(ctx, NULL, WORKLOAD, "c"));
    remove(path);
}

static void load_missing(gpuc_ctx *ctx, void *arg)
{
    const char *path = "/nowhere/log.jsonl";
    (void)arg;
    gpuc_tuning_load(ctx, 1, &path, NULL, NULL);
}

static void missing(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    fx_expect(ctx, GPUC_NOT_FOUND, "tuning log|/nowhere/log.jsonl", load_missing, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {fx_test(round_trip),   fx_test(bad_records),  fx_test(torn_line),
                                       fx_test(every_prefix), fx_test(best_of_logs), fx_test(missing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
