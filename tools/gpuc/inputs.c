/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the inputs of a model: from files, folders and archives, or filled at random. */
#include "inputs.h"
#include "unzip.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "text.h"

bool cli_inputs_option(const cli_command *c, int key, const char *value, cli_input_options *options)
{
    switch (key) {
    case 'i':
        if (!strchr(value, '=')) cli_usage(c, "--input needs NAME=FILE, not '%s'", value);
        cli_strings_add(&options->files, value);
        return true;
    case CLI_INPUTS: options->from = value; return true;
    case CLI_RANDOM:
        options->random = true;
        options->seed = (uint64_t)cli_int(c, "--random", value, INT64_MIN, INT64_MAX);
        return true;
    case CLI_SHAPE: cli_shapes_add(c, &options->shapes, value); return true;
    default: return false;
    }
}

/* A tensor on offer: a file of a folder, a member of an archive. */
typedef struct offer {
    char *file; /* for messages */
    char *base; /* without the extension */
    int member; /* of the archive; -1 in a folder */
    int input;  /* that it is for */
} offer;

typedef struct gathering {
    gpuc_model *model;
    int count;
    gpuc_host_tensor *inputs;
    char **sources;    /* per input: the file that it came from; NULL: not yet */
    gpuc_npz *archive; /* NULL: there is none */
    offer *offers;
    int num_offers;
} gathering;

char *cli_info_text(const gpuc_tensor_info *info)
{
    char dtype[24], *dims = cli_dims_text(info->ndim, info->dims, info->dim_names);
    char *text = cli_printf("%s[%s]", gpuc_dtype_name(info->dtype, dtype), dims);
    free(dims);
    return text;
}

static const char *mend_of(const gpuc_tensor_info *info, const gpuc_host_tensor *t)
{
    if (!gpuc_dtype_equal(info->dtype, t->dtype)) return "convert it with a.astype(...)";
    if (info->ndim != t->ndim) return "reshape it";
    return "resize or cut it, or build the model with --shape for this size";
}

static gpuc_status check(const gpuc_tensor_info *info, const gpuc_host_tensor *t, const char *file)
{
    bool same = gpuc_dtype_equal(info->dtype, t->dtype) && info->ndim == t->ndim;
    for (int d = 0; same && d < t->ndim; d++) same = info->dims[d] < 0 || info->dims[d] == t->dims[d];
    if (same) return NULL;
    char *want = cli_info_text(info), *have = cli_tensor_type_text(t);
    gpuc_status status = gpuc_fail(GPUC_INVALID_ARGUMENT, "'%s' holds %s, but input '%s' is %s; %s", file,
                                   have, info->name, want, mend_of(info, t));
    free(want);
    free(have);
    return status;
}

static gpuc_status claim(gathering *g, int i, const char *source)
{
    if (g->sources[i])
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "input '%s' is given twice, by '%s' and by '%s'",
                         gpuc_model_input(g->model, i).name, g->sources[i], source);
    g->sources[i] = cli_printf("%s", source);
    return NULL;
}

static gpuc_status load(gathering *g, int i, const char *file)
{
    gpuc_tensor_info info = gpuc_model_input(g->model, i);
    GPUC_TRY(cli_tensor_load(file, &g->inputs[i]));
    return check(&info, &g->inputs[i], file);
}

/* What an archive holds is checked before it is unpacked. */
static gpuc_status load_member(gathering *g, const offer *o)
{
    gpuc_tensor_info info = gpuc_model_input(g->model, o->input);
    gpuc_host_tensor type;
    GPUC_TRY(gpuc_npz_type(g->archive, o->member, &type));
    GPUC_TRY(check(&info, &type, o->file));
    return gpuc_npz_read(g->archive, o->member, &g->inputs[o->input]);
}

static gpuc_status no_such_input(const gathering *g, const char *name, const char *where)
{
    const char **names = cli_alloc((size_t)(g->count + 1) * sizeof *names);
    cli_text list = {0};
    for (int i = 0; i < g->count; i++) {
        names[i] = gpuc_model_input(g->model, i).name;
        cli_text_printf(&list, "%s'%s'", i ? ", " : "", names[i]);
    }
    const char *near = gpuc_suggest(name, names, (size_t)g->count);
    gpuc_status status =
        near ? gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: the model has no input '%s'; did you mean '%s'?", where,
                         name, near)
             : gpuc_fail(GPUC_INVALID_ARGUMENT, "%s: the model has no input '%s'; it has %s", where, name,
                         g->count ? cli_text_get(&list) : "none");
    cli_text_free(&list);
    free(names);
    return status;
}

static gpuc_status gather_files(gathering *g, const cli_strings *files)
{
    for (int k = 0; k < files->count; k++) {
        const char *text = files->at[k];
        /* Names may hold '=', too: the longest name that the model has counts. */
        int found = -1;
        const char *file = NULL;
        for (const char *eq = strchr(text, '='); eq; eq = strchr(eq + 1, '=')) {
            char *name = cli_printf("%.*s", (int)(eq - text), text);
            int i = gpuc_model_find_input(g->model, name);
            if (i >= 0) {
                found = i;
                file = eq + 1;
            }
            free(name);
        }
        if (found < 0) {
            char *name = cli_printf("%.*s", (int)strcspn(text, "="), text);
            gpuc_status status = no_such_input(g, name, "--input");
            free(name);
            return status;
        }
        GPUC_TRY(claim(g, found, file));
        GPUC_TRY(load(g, found, file));
    }
    return NULL;
}

/* ---- A folder or an archive ---- */

static offer *add_offer(gathering *g)
{
    g->offers = cli_grow(g->offers, (size_t)g->num_offers, sizeof *g->offers);
    g->offers[g->num_offers] = (offer){0};
    return &g->offers[g->num_offers++];
}

static bool is_output_name(const char *name)
{
    int n = 0;
    return sscanf(name, "output_%*d%n", &n) == 0 && n > 0 && name[n] == '.';
}

static int compare_offers(const void *a, const void *b)
{
    return strcmp(((const offer *)a)->file, ((const offer *)b)->file);
}

/* Outputs may lie in the same folder, as in ONNX's test data. */
static gpuc_status list_folder(gathering *g, const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) return gpuc_file_error(errno, "cannot read the folder", path);
    for (const struct dirent *e; (e = readdir(dir));) {
        if (e->d_name[0] == '.' || !gpuc_is_tensor_file(e->d_name) || is_output_name(e->d_name)) continue;
        offer *o = add_offer(g);
        o->member = -1;
        o->file = cli_printf("%s/%s", path, e->d_name);
        o->base = cli_printf("%.*s", (int)(strrchr(e->d_name, '.') - e->d_name), e->d_name);
    }
    closedir(dir);
    if (g->num_offers) qsort(g->offers, (size_t)g->num_offers, sizeof *g->offers, compare_offers);
    if (g->num_offers || g->count == 0) return NULL;
    return gpuc_fail(GPUC_INVALID_ARGUMENT,
                     "'%s': holds no .npy or .pb file; name them <input>.npy or input_0.npy", path);
}

static gpuc_status list_archive(gathering *g, const char *path)
{
    GPUC_TRY(gpuc_npz_open(path, cli_npz_codec(), &g->archive));
    for (int i = 0; i < gpuc_npz_count(g->archive); i++) {
        offer *o = add_offer(g);
        *o = (offer){.file = cli_printf("%s", gpuc_npz_file(g->archive, i)),
                     .base = cli_printf("%s", gpuc_npz_name(g->archive, i)),
                     .member = i};
    }
    return NULL;
}

/* A file is meant for the input of its name ('/' is written as '_'), or of its number. */
static bool is_for(const gathering *g, const offer *o, int i)
{
    char *name = cli_printf("%s", gpuc_model_input(g->model, i).name);
    bool same = strcmp(o->base, name) == 0;
    for (char *c = name; *c; c++)
        if (*c == '/') *c = '_';
    same = same || strcmp(o->base, name) == 0;
    free(name);
    return same;
}

static int number_of(const gathering *g, const offer *o)
{
    int i, n = 0;
    static const char *const forms[] = {"input_%d%n", "arr_%d%n"}; /* numpy's own names are arr_J */
    for (size_t k = 0; k < CLI_COUNT(forms); k++)
        if (sscanf(o->base, forms[k], &i, &n) == 1 && !o->base[n] && i >= 0 && i < g->count) return i;
    return -1;
}

static gpuc_status find_input(gathering *g, offer *o)
{
    int i = 0;
    while (i < g->count && !is_for(g, o, i)) i++;
    if (i == g->count) i = number_of(g, o);
    if (i < 0) return no_such_input(g, o->base, o->file);
    o->input = i;
    return claim(g, i, o->file);
}

/* All names are looked at before the first file is read. */
static gpuc_status gather_offers(gathering *g, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return gpuc_file_error(errno, "cannot read the inputs", path);
    GPUC_TRY(S_ISDIR(st.st_mode) ? list_folder(g, path) : list_archive(g, path));
    for (int k = 0; k < g->num_offers; k++) GPUC_TRY(find_input(g, &g->offers[k]));
    for (int k = 0; k < g->num_offers; k++) {
        const offer *o = &g->offers[k];
        GPUC_TRY(o->member < 0 ? load(g, o->input, o->file) : load_member(g, o));
    }
    return NULL;
}

/* ---- Random ---- */

/* One word of a shell's command line, quoted where it must be. */
static void add_word(cli_text *t, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=:,./@%";
    bool quote = !*word || word[strspn(word, plain)];
    if (quote) cli_text_add(t, "'");
    for (const char *c = word; *c; c++)
        if (*c == '\'')
            cli_text_add(t, "'\\''");
        else
            cli_text_bytes(t, c, 1);
    if (quote) cli_text_add(t, "'");
}

/* "--shape x=1,3,224,224", as one may type it: 1 where the model says nothing. */
static char *shape_option(const gpuc_tensor_info *info)
{
    cli_text word = {0}, out = {0};
    cli_text_printf(&word, "%s=", info->name);
    for (int d = 0; d < info->ndim; d++)
        cli_text_printf(&word, "%s%lld", d ? "," : "", (long long)(info->dims[d] < 0 ? 1 : info->dims[d]));
    cli_text_add(&out, "--shape ");
    add_word(&out, cli_text_get(&word));
    char *text = cli_printf("%s", cli_text_get(&out));
    cli_text_free(&word);
    cli_text_free(&out);
    return text;
}

static gpuc_status not_fixed(const gpuc_tensor_info *info, int d)
{
    char *option = shape_option(info);
    gpuc_status status = gpuc_fail(GPUC_INVALID_ARGUMENT,
                                   "dimension %d of input '%s' is not fixed: give the shape, such as %s", d,
                                   info->name, option);
    free(option);
    return status;
}

static gpuc_status random_input(gpuc_model *model, int i, const cli_shapes *shapes, uint64_t seed,
                                gpuc_host_tensor *out)
{
    gpuc_tensor_info info = gpuc_model_input(model, i);
    const cli_shape *given = cli_shapes_find(shapes, info.name);
    int64_t dims[GPUC_HOST_TENSOR_DIMS];
    if (given && given->ndim != info.ndim)
        return gpuc_fail(GPUC_INVALID_ARGUMENT, "--shape %s has %d dimensions, the input %d", info.name,
                         given->ndim, info.ndim);
    for (int d = 0; d < info.ndim && d < GPUC_HOST_TENSOR_DIMS; d++) {
        dims[d] = given && info.dims[d] < 0 ? given->dims[d] : info.dims[d];
        if (dims[d] < 0) return not_fixed(&info, d);
        if (given && given->dims[d] != dims[d])
            return gpuc_fail(GPUC_INVALID_ARGUMENT, "--shape %s: dimension %d is %lld in the package",
                             info.name, d, (long long)dims[d]);
    }
    GPUC_TRY(gpuc_host_tensor_init(info.dtype, info.ndim, dims, info.name, out));
    /* Each input has a stream of its own. */
    cli_tensor_randomize(out, seed + (uint64_t)i * UINT64_C(0xd1342543de82ef95));
    return NULL;
}

gpuc_status cli_inputs_random(gpuc_model *model, const cli_shapes *shapes, uint64_t seed,
                              gpuc_host_tensor **out)
{
    int count = gpuc_model_num_inputs(model);
    *out = cli_alloc((size_t)count * sizeof **out);
    for (int i = 0; i < count; i++)
        if (!gpuc_model_input(model, i).has_default)
            GPUC_TRY(random_input(model, i, shapes, seed, &(*out)[i]));
    return NULL;
}

static gpuc_status gather_rest(gathering *g, const cli_input_options *options)
{
    cli_text missing = {0};
    gpuc_status status = NULL;
    int count = 0;
    for (int i = 0; i < g->count && !status; i++) {
        if (g->sources[i]) continue;
        gpuc_tensor_info info = gpuc_model_input(g->model, i);
        if (info.has_default) continue;
        if (options->random) {
            status = random_input(g->model, i, &options->shapes, options->seed, &g->inputs[i]);
            continue;
        }
        char *type = cli_info_text(&info);
        cli_text_printf(&missing, "%s'%s' %s", count++ ? ", " : "", info.name, type);
        free(type);
    }
    if (count)
        status = gpuc_fail(GPUC_INVALID_ARGUMENT,
                           "input%s %s %s missing; give --input NAME=FILE, --inputs DIR or --random SEED",
                           count > 1 ? "s" : "", cli_text_get(&missing), count > 1 ? "are" : "is");
    cli_text_free(&missing);
    return status;
}

gpuc_status cli_inputs_gather(gpuc_model *model, const cli_input_options *options, gpuc_host_tensor **out)
{
    gathering g = {.model = model, .count = gpuc_model_num_inputs(model)};
    g.inputs = *out = cli_alloc((size_t)g.count * sizeof *g.inputs);
    g.sources = cli_alloc((size_t)g.count * sizeof *g.sources);
    gpuc_status status = NULL;
    for (int i = 0; i < options->shapes.count && !status; i++)
        if (gpuc_model_find_input(model, options->shapes.at[i].name) < 0)
            status = no_such_input(&g, options->shapes.at[i].name, "--shape");
    if (!status) status = gather_files(&g, &options->files);
    if (!status && options->from) status = gather_offers(&g, options->from);
    if (!status) status = gather_rest(&g, options);
    for (int i = 0; i < g.num_offers; i++) {
        free(g.offers[i].file);
        free(g.offers[i].base);
    }
    free(g.offers);
    gpuc_npz_close(g.archive);
    for (int i = 0; i < g.count; i++) free(g.sources[i]);
    free(g.sources);
    return status;
}

void cli_inputs_free(gpuc_host_tensor *inputs, int count)
{
    for (int i = 0; inputs && i < count; i++) gpuc_host_tensor_deinit(&inputs[i]);
    free(inputs);
}
