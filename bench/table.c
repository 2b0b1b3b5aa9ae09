/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench.h"

void bench_print_header(FILE *to, int threads)
{
    fprintf(
        to,
        "| workload | on %d threads each | median | best | speed | limit | its median | its best | of it, by "
        "medians | by bests | goal | worst difference |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|---|\n",
        threads);
    fflush(to);
}

/* What other programs say may have signs of the table in it. */
static void print_text(FILE *to, const char *text)
{
    for (; *text; text++) fputc(*text == '|' || (unsigned char)*text < ' ' ? ' ' : *text, to);
}

void bench_print_row(FILE *to, const bench_row *row)
{
    fprintf(to, "| %s | %s |", row->workload, row->target);
    if (row->failure) {
        fputc(' ', to);
        print_text(to, row->failure);
        fprintf(to, " | | | | | | | | | |\n");
        fflush(to);
        return;
    }
    double median = bench_median(&row->samples), best = row->samples.best;
    fprintf(to, " %.3f ms%s | %.3f ms | %.1f %s |", median * 1e3, row->samples.noisy ? " (noisy)" : "",
            best * 1e3, row->amount / median * row->scale, row->unit);
    if (row->limit)
        fprintf(to, " %s | %.3f ms%s | %.3f ms | %.0f%% | %.0f%% |", row->limit, row->limit_seconds * 1e3,
                row->limit_noisy ? " (noisy)" : "", row->limit_best * 1e3, 100 * row->limit_seconds / median,
                100 * row->limit_best / best);
    else
        fprintf(to, " | | | | |");
    if (row->limit && row->goal > 0)
        fprintf(to, " %.0f%%%s", 100 * row->goal, row->limit_seconds / median >= row->goal ? "" : ": missed");
    fprintf(to, " |");
    if (row->difference >= 0) fprintf(to, " %.2g", row->difference);
    fprintf(to, " |\n");
    fflush(to);
}

static void write_string(FILE *f, const char *text)
{
    fputc('"', f);
    for (; text && *text; text++) {
        if (*text == '"' || *text == '\\') fputc('\\', f);
        if ((unsigned char)*text >= ' ') fputc(*text, f);
    }
    fputc('"', f);
}

static void write_field(FILE *f, const char *name, const char *text)
{
    fprintf(f, "\"%s\": ", name);
    write_string(f, text);
    fputs(", ", f);
}

gpuc_status bench_write_json(const char *path, const bench_table *table, int threads)
{
    FILE *f = fopen(path, "w");
    if (!f) return gpuc_fail(GPUC_IO, "cannot write %s", path);
    fprintf(f, "{\"gpuc\": \"%s\", \"threads\": %d, \"calibration_gflops\": %.1f, \"rows\": [\n",
            GPUC_VERSION, threads, cli_quiet_best(bench_quiet) * 1e-9);
    for (int i = 0; i < table->count; i++) {
        const bench_row *row = &table->rows[i];
        fputs("  {", f);
        write_field(f, "workload", row->workload);
        write_field(f, "target", row->target);
        write_field(f, "device", row->device);
        if (row->failure) write_field(f, "failure", row->failure);
        if (row->limit) {
            write_field(f, "limit", row->limit);
            fprintf(f, "\"limit_seconds\": %.9f, \"limit_best_seconds\": %.9f, \"goal\": %.2f, ",
                    row->limit_seconds, row->limit_best, row->goal);
        }
        if (row->difference >= 0) fprintf(f, "\"worst_difference\": %.3g, ", row->difference);
        fprintf(f,
                "\"unit\": \"%s\", \"amount\": %.0f, \"median_seconds\": %.9f, \"best_seconds\": %.9f, "
                "\"noisy\": %s, \"samples\": [",
                row->unit ? row->unit : "", row->amount, bench_median(&row->samples), row->samples.best,
                row->samples.noisy ? "true" : "false");
        for (int k = 0; k < row->samples.count; k++)
            fprintf(f, "%s%.9f", k ? ", " : "", row->samples.seconds[k]);
        fprintf(f, "]}%s\n", i + 1 < table->count ? "," : "");
    }
    fputs("]}\n", f);
    bool failed = ferror(f) != 0;
    if (fclose(f) != 0 || failed) return gpuc_fail(GPUC_IO, "cannot write %s", path);
    return NULL;
}
