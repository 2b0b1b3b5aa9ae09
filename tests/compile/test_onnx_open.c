/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX nodes of several inputs whose extents only a run knows. Where a model with the same numbers builds, the
 * results are its results; where it does not, the run says that the shapes do not fit. */
#include "../onnx/load.h"
#include "run.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

enum { MAX_INPUTS = 7, MAX_OUTPUTS = 4, MAX_SAMPLES = 8, MAX_ELEMENTS = 4096 };

typedef struct open_case {
    const char *op;
    int opset;
    const char *attrs;
    const char *inputs;  /* "x[N,3] i[N]l": a letter is an open extent; behind it l: int64, b: bool */
    const char *names;   /* of the node's inputs, where some are left out; NULL: the inputs as they are */
    const char *outputs; /* "y" */
    const char *samples[MAX_SAMPLES]; /* "N=1 M=2" */
} open_case;

static const open_case cases[] = {
    {"Attention",
     23,
     "",
     "q[N,2,S,4] k[M,2,T,4] v[K,2,U,3]",
     NULL,
     "y",
     {"N=2 S=3 M=2 T=5 K=2 U=5", "N=1 S=1 M=1 T=7 K=1 U=7", "N=2 S=3 M=1 T=5 K=2 U=5",
      "N=2 S=3 M=2 T=5 K=1 U=5", "N=2 S=3 M=2 T=5 K=2 U=4"}},
    {"Attention",
     23,
     "q_num_heads=4 kv_num_heads=2 is_causal=1",
     "q[N,S,12] k[M,T,6] v[K,U,W]",
     NULL,
     "y",
     {"N=2 S=3 M=2 T=3 K=2 U=3 W=4", "N=1 S=5 M=1 T=2 K=1 U=2 W=8", "N=2 S=3 M=2 T=3 K=2 U=3 W=5",
      "N=2 S=3 M=1 T=3 K=2 U=3 W=4"}},
    {"Attention",
     23,
     "is_causal=1",
     "q[N,2,S,4] k[N,2,T,4] v[N,2,T,3] pk[M,2,P,4] pv[M,2,Q,3]",
     "q,k,v,,pk,pv",
     "y,nk,nv",
     {"N=1 S=2 T=2 M=1 P=3 Q=3", "N=2 S=1 T=1 M=2 P=0 Q=0", "N=2 S=1 T=1 M=1 P=4 Q=4",
      "N=1 S=2 T=2 M=1 P=3 Q=4"}},
    {"Attention",
     23,
     "softcap=2.0",
     "q[N,4,S,5] k[N,2,T,5] v[N,2,T,3] m[A,B,C,D]",
     NULL,
     "y,nk,nv,qk",
     {"N=2 S=3 T=5 A=2 B=4 C=3 D=5", "N=2 S=3 T=5 A=1 B=1 C=3 D=5", "N=2 S=3 T=5 A=1 B=4 C=1 D=1",
      "N=2 S=3 T=5 A=2 B=1 C=3 D=4", "N=1 S=3 T=5 A=2 B=1 C=3 D=5", "N=2 S=3 T=4 A=2 B=1 C=3 D=5",
      "N=2 S=1 T=4 A=2 B=1 C=3 D=4", "N=2 S=3 T=5 A=2 B=3 C=3 D=5"}},
    {"Attention",
     23,
     "",
     "q[N,2,S,4] k[N,2,T,4] v[N,2,T,3] m[C,D]b",
     NULL,
     "y",
     {"N=2 S=3 T=5 C=3 D=5", "N=1 S=1 T=5 C=1 D=3", "N=1 S=2 T=1 C=2 D=5", "N=1 S=2 T=3 C=3 D=3"}},
    {"Attention",
     24,
     "",
     "q[N,2,S,4] k[N,2,T,4] v[N,2,T,3] len[M]l",
     "q,k,v,,,,len",
     "y",
     {"N=2 S=1 T=4 M=2", "N=2 S=1 T=4 M=1", "N=1 S=2 T=3 M=1"}},
    {"RotaryEmbedding",
     23,
     "",
     "x[N,2,S,4] c[A,B,2] s[D,E,2]",
     NULL,
     "y",
     {"N=2 S=3 A=2 B=3 D=2 E=3", "N=1 S=5 A=1 B=5 D=1 E=5", "N=2 S=3 A=2 B=4 D=2 E=3",
      "N=2 S=3 A=2 B=3 D=3 E=3"}},
    {"RotaryEmbedding",
     23,
     "num_heads=2",
     "x[N,S,8] c[R,2] s[R,2] at[M,T]l",
     NULL,
     "y",
     {"N=2 S=3 R=9 M=2 T=3", "N=1 S=4 R=5 M=1 T=4", "N=2 S=3 R=9 M=2 T=2"}},
    {"GroupNormalization",
     18,
     "num_groups=2",
     "x[N,4,H,W] s[G] b[K]",
     NULL,
     "y",
     {"N=1 H=3 W=5 G=2 K=2", "N=2 H=4 W=1 G=2 K=2", "N=1 H=3 W=5 G=4 K=2", "N=1 H=3 W=5 G=2 K=1"}},
    {"GroupNormalization",
     21,
     "num_groups=2",
     "x[N,4,H,W] s[G] b[K]",
     NULL,
     "y",
     {"N=1 H=3 W=5 G=4 K=4", "N=2 H=4 W=1 G=4 K=4", "N=1 H=3 W=5 G=2 K=4"}},
    {"BatchNormalization",
     9,
     "",
     "x[N,C,H] s[K] b[K] m[L] v[L]",
     NULL,
     "y",
     {"N=2 C=3 H=4 K=3 L=3", "N=1 C=1 H=2 K=1 L=1", "N=2 C=3 H=4 K=1 L=3", "N=2 C=1 H=4 K=3 L=3",
      "N=2 C=3 H=4 K=3 L=4"}},
    {"InstanceNormalization",
     6,
     "",
     "x[N,C,H] s[K] b[L]",
     NULL,
     "y",
     {"N=2 C=3 H=4 K=3 L=3", "N=2 C=3 H=4 K=3 L=1", "N=2 C=1 H=4 K=2 L=2"}},
    {"Squeeze", 11, "", "x[N,1,M]", NULL, "y", {"N=2 M=3", "N=0 M=2"}},
    {"Add",
     6,
     "broadcast=1 axis=1",
     "x[N,C,H] y[K]",
     NULL,
     "y0",
     {"N=2 C=3 H=4 K=3", "N=3 C=1 H=2 K=1", "N=2 C=3 H=4 K=2", "N=2 C=3 H=4 K=4"}},
    {"PRelu",
     6,
     "",
     "x[N,C,H] s[K]",
     NULL,
     "y",
     {"N=2 C=3 H=4 K=3", "N=2 C=3 H=4 K=1", "N=1 C=1 H=4 K=1", "N=2 C=3 H=4 K=4"}},
    {"Dropout", 12, "", "x[N,C]", NULL, "y,mask", {"N=2 C=3", "N=0 C=3", "N=5 C=1"}},
    {"MaxRoiPool",
     1,
     "pooled_shape=[2, 2]",
     "x[N,C,H,W] r[R,5]",
     NULL,
     "y",
     {"N=2 C=3 H=6 W=5 R=1", "N=1 C=1 H=1 W=9 R=4", "N=1 C=1 H=0 W=9 R=4"}},
    {"RoiAlign",
     16,
     "output_height=2 output_width=3 spatial_scale=4.0",
     "x[N,C,H,W] r[R,4] i[K]l",
     NULL,
     "y",
     {"N=3 C=2 H=6 W=5 R=3 K=3", "N=1 C=9 H=3 W=8 R=1 K=1", "N=3 C=2 H=6 W=5 R=3 K=2",
      "N=3 C=2 H=6 W=0 R=3 K=3"}},
    {"RoiAlign",
     16,
     "output_height=2 output_width=3 sampling_ratio=2 spatial_scale=4.0 mode=max",
     "x[N,C,H,W] r[R,4] i[R]l",
     NULL,
     "y",
     {"N=3 C=2 H=6 W=5 R=3", "N=1 C=1 H=4 W=12 R=2"}},
    {"Dropout", 12, "seed=3", "x[N,C] ratio[]  on[]b", NULL, "y,mask", {"N=2 C=3", "N=0 C=3", "N=5 C=1"}},
    {"OneHot",
     11,
     "",
     "i[N,M]l d[1]l v[K]",
     NULL,
     "y",
     {"N=2 M=3 K=2", "N=1 M=4 K=2", "N=2 M=3 K=3", "N=2 M=3 K=1"}},
    {"STFT",
     17,
     "",
     "x[N,T,1] step[1]l w[K] len[1]l",
     NULL,
     "y",
     {"N=1 T=9 K=4", "N=2 T=16 K=4", "N=1 T=9 K=3", "N=1 T=3 K=4"}},
    {"Gather", 13, "axis=1", "x[N,M] i[K]l", NULL, "y", {"N=2 M=5 K=3", "N=2 M=0 K=0", "N=2 M=0 K=3"}},
    {"ArgMax", 13, "axis=1 keepdims=0", "x[N,M]", NULL, "y", {"N=2 M=5", "N=0 M=5", "N=2 M=0"}},
};

static bool next_word(const char **p, char *out, size_t size)
{
    *p += strspn(*p, " ");
    size_t n = strcspn(*p, " ");
    snprintf(out, size, "%.*s", (int)n, *p);
    *p += n;
    return n > 0;
}

/* The number that a sample gives a letter. */
static int64_t letter(const open_case *c, const char *sample, char name)
{
    for (const char *p = sample; *p; p++)
        if (p[0] == name && p[1] == '=') return strtoll(p + 2, NULL, 10);
    fail_msg("%s: no %c in '%s'", c->op, name, sample);
    return 0;
}

typedef struct input {
    char name[64], dims[64]; /* as the writer takes them */
    run_array array;
} input;

/* Input number i with the extents of a sample; NULL: as they are written. */
static bool make_input(const open_case *c, const char **p, const char *sample, input *in)
{
    char word[64];
    if (!next_word(p, word, sizeof word)) return false;
    char *dims = strchr(word, '['), *end = strchr(word, ']');
    *in = (input){.array.dtype = end[1] == 'l' ? GPUC_INT64 : end[1] == 'b' ? GPUC_BOOL : GPUC_FLOAT32};
    *dims++ = *end = 0;
    snprintf(in->name, sizeof in->name, "%s", word);
    for (char *d = dims; *d; d += *d == ',') {
        int64_t extent = 0;
        size_t n = strlen(in->dims), length = strcspn(d, ",");
        if (sample) extent = isupper((unsigned char)*d) ? letter(c, sample, *d) : strtoll(d, NULL, 10);
        in->array.dims[in->array.ndim++] = extent;
        if (sample)
            snprintf(in->dims + n, sizeof in->dims - n, "%s%lld", n ? "," : "", (long long)extent);
        else
            snprintf(in->dims + n, sizeof in->dims - n, "%s%.*s", n ? "," : "", (int)length, d);
        d += length;
    }
    return true;
}

typedef struct load_arg {
    const open_case *c;
    const char *sample;
    gpuc_status status;
} load_arg;

/* What decides a shape is a number of the model: 4. */
static bool is_number(const open_case *c, const input *in)
{
    return in->array.dtype.code == GPUC_DTYPE_INT && !strcmp(in->dims, "1") && strstr(c->inputs, "[1]l");
}

static void load_and_build(gpuc_ctx *ctx, void *arg)
{
    load_arg *a = arg;
    const open_case *c = a->c;
    static const int64_t four = 4;
    char names[128] = "", word[32];
    input in;
    wr_model m;
    wr_begin(&m, c->opset);
    for (const char *p = c->inputs; make_input(c, &p, a->sample, &in);) {
        bool is_int = in.array.dtype.code == GPUC_DTYPE_INT;
        if (is_number(c, &in))
            wr_ints(&m, in.name, "1", &four);
        else
            wr_input(&m, in.name, gpuc_is_bool(in.array.dtype) ? 9 : is_int ? 7 : 1, in.dims);
        snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? "," : "", in.name);
    }
    for (const char *p = c->outputs; *p; p += *p == ',') {
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, ","), p);
        wr_output(&m, word);
        p += strcspn(p, ",");
    }
    wr_node(&m, c->op, c->names ? c->names : names, c->outputs, c->attrs);
    gpuc_buf file;
    wr_end(&m, &file);
    a->status = run_build(ctx, wr_load_open(ctx, &file));
}

static gpuc_status build(gpuc_ctx *ctx, const open_case *c, const char *sample)
{
    load_arg a = {c, sample, NULL};
    gpuc_status status = gpuc_ctx_protect(ctx, load_and_build, &a);
    return status ? status : a.status;
}

typedef struct result {
    gpuc_dtype dtype;
    int ndim;
    int64_t dims[8], count;
    double v[MAX_ELEMENTS];
} result;

static double element(gpuc_dtype t, const void *bytes, int64_t i)
{
    if (gpuc_is_float(t)) return (double)((const float *)bytes)[i];
    return t.bits == 64 ? (double)((const int64_t *)bytes)[i] : (double)((const uint8_t *)bytes)[i];
}

static int run(const open_case *c, const char *sample, result *out, gpuc_status *status)
{
    static float floats[MAX_ELEMENTS];
    static int64_t numbers[MAX_ELEMENTS];
    static uint8_t flags[MAX_ELEMENTS];
    run_array arrays[MAX_INPUTS];
    input in;
    int n = 0, outputs = 0;
    for (int i = 0; i < MAX_ELEMENTS; i++) {
        floats[i] = (float)(i * 7 % 23) / 8 - 1;
        numbers[i] = i % 2 + 1;
        flags[i] = i % 3 != 1;
    }
    for (const char *p = c->inputs; make_input(c, &p, sample, &in);) {
        if (is_number(c, &in)) continue;
        in.array.bytes = gpuc_is_bool(in.array.dtype)            ? (const void *)flags
                         : in.array.dtype.code == GPUC_DTYPE_INT ? (const void *)numbers
                                                                 : floats;
        arrays[n++] = in.array;
    }
    *status = run_session(n, arrays);
    if (*status) return 0;
    for (; outputs < gpuc_model_num_outputs(run_model()); outputs++) {
        const int64_t *dims;
        result *r = &out[outputs];
        const void *bytes = run_output(outputs, &r->ndim, &dims);
        r->dtype = gpuc_model_output(run_model(), outputs).dtype;
        r->count = 1;
        for (int d = 0; d < r->ndim; d++) r->count *= r->dims[d] = dims[d];
        assert_true(r->count <= MAX_ELEMENTS);
        for (int64_t i = 0; i < r->count; i++) r->v[i] = element(r->dtype, bytes, i);
    }
    return outputs;
}

static void compare(const open_case *c, const char *sample, const result *have, const result *want)
{
    assert_int_equal(have->ndim, want->ndim);
    for (int d = 0; d < want->ndim; d++)
        if (have->dims[d] != want->dims[d])
            fail_msg("%s %s, %s: dimension %d is %lld, should be %lld", c->op, c->attrs, sample, d,
                     (long long)have->dims[d], (long long)want->dims[d]);
    for (int64_t i = 0; i < want->count; i++) {
        double x = have->v[i], y = want->v[i];
        if (!(fabs(x - y) <= 1e-4 * (1 + fabs(y))) && x != y && !(isnan(x) && isnan(y)))
            fail_msg("%s %s, %s: element %lld is %g, should be %g", c->op, c->attrs, sample, (long long)i, x,
                     y);
    }
}

static void check_case(gpuc_ctx *ctx, const open_case *c)
{
    static result have[MAX_SAMPLES][MAX_OUTPUTS], want[MAX_OUTPUTS];
    gpuc_status ran[MAX_SAMPLES] = {NULL}, status = build(ctx, c, NULL);
    if (status) fail_msg("%s %s: %s", c->op, c->attrs, gpuc_status_message(status));
    for (int i = 0; i < MAX_SAMPLES && c->samples[i]; i++) run(c, c->samples[i], have[i], &ran[i]);
    for (int i = 0; i < MAX_SAMPLES && c->samples[i]; i++) {
        const char *sample = c->samples[i];
        gpuc_status built = build(ctx, c, sample);
        int outputs = built ? 0 : run(c, sample, want, &status);
        if (!built && status) fail_msg("%s %s, %s: %s", c->op, c->attrs, sample, gpuc_status_message(status));
        if (!built && ran[i]) fail_msg("%s %s, %s: %s", c->op, c->attrs, sample, gpuc_status_message(ran[i]));
        if (built && !ran[i])
            fail_msg("%s %s, %s: runs where a build says: %s", c->op, c->attrs, sample,
                     gpuc_status_message(built));
        if (built) fx_check_status(ran[i], GPUC_INVALID_ARGUMENT, "do not fit");
        for (int o = 0; o < outputs; o++) compare(c, sample, &have[i][o], &want[o]);
        gpuc_status_release(built);
    }
}

static void like_known(gpuc_ctx *ctx, void *arg)
{
    (void)arg;
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) check_case(ctx, &cases[k]);
    print_message("cases: %zu\n", sizeof cases / sizeof cases[0]);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {fx_test(like_known)};
    if (!run_available(argc, argv)) return 77;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    run_end();
    return failed;
}
