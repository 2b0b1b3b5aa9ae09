/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the results of tests: lines, JSON, JUnit. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verify/verify.h"

static const struct {
    const char *word, *json;
    cli_colour colour;
} outcomes[] = {
    [VERIFY_FAILED] = {"FAIL", "failed", CLI_RED},
    [VERIFY_PASSED] = {"PASS", "passed", CLI_GREEN},
    [VERIFY_SKIPPED] = {"SKIP", "skipped", CLI_YELLOW},
};

static void print_line(FILE *to, const verify_test *t, const verify_result *r, double seconds, bool verbose)
{
    int fd = fileno(to);
    fprintf(to, "%s%s%s %s", cli_colour_on(fd, outcomes[r->outcome].colour), outcomes[r->outcome].word,
            cli_colour_off(fd), t->name);
    if (*r->reason) fprintf(to, ": %s", r->reason);
    if (verbose && r->outcome == VERIFY_PASSED)
        fprintf(to, " (%.1f s: build %.2f, run %.3f; %d kernels, %llu launches on %s)", seconds,
                r->build_seconds, r->run_seconds, r->kernels, (unsigned long long)r->launches, r->device);
    fprintf(to, "\n");
    fflush(to);
}

static void json_lines(cli_json *j, const char *name, const char *lines)
{
    cli_json_array(j, name);
    for (const char *at = lines; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        char *line = cli_printf("%.*s", (int)strcspn(at, "\n"), at);
        cli_json_string(j, NULL, line);
        free(line);
    }
    cli_json_end_array(j);
}

static void json_line(const verify_options *o, const verify_test *t, const verify_result *r, double seconds)
{
    cli_json j;
    cli_json_init(&j);
    cli_json_object(&j, NULL);
    cli_json_string(&j, "name", t->name);
    cli_json_string(&j, "path", t->path);
    cli_json_string(&j, "target", *r->target ? r->target : o->target);
    cli_json_string(&j, "status", outcomes[r->outcome].json);
    cli_json_string(&j, "reason", r->reason);
    cli_json_array(&j, "worst_errors");
    for (int i = 0; i < r->num_outputs; i++) {
        if (!r->worst[i].set) continue;
        cli_json_object(&j, NULL);
        cli_json_int(&j, "output", i);
        cli_json_number(&j, "max_abs", r->worst[i].max_abs);
        cli_json_number(&j, "max_rel", r->worst[i].max_rel);
        cli_json_number(&j, "rel_l2", r->worst[i].rel_l2);
        cli_json_end_object(&j);
    }
    cli_json_end_array(&j);
    cli_json_string(&j, "device", r->device);
    cli_json_string(&j, "driver", r->driver);
    cli_json_int(&j, "packages_built", r->packages);
    cli_json_int(&j, "kernels_compiled", r->kernels);
    cli_json_int(&j, "kernels_launched", (int64_t)r->launches);
    cli_json_int(&j, "kernels_launched_elsewhere", (int64_t)r->launches_elsewhere);
    cli_json_int(&j, "operators", r->nodes);
    cli_json_int(&j, "operators_elsewhere", r->nodes_elsewhere);
    cli_json_int(&j, "inputs_bound", r->inputs_bound);
    json_lines(&j, "bound_at_build", r->bound);
    cli_json_int(&j, "data_sets", t->num_sets);
    cli_json_number(&j, "build_seconds", r->build_seconds);
    cli_json_number(&j, "run_seconds", r->run_seconds);
    cli_json_number(&j, "seconds", seconds);
    cli_json_end_object(&j);
    cli_json_print(&j, stdout);
    cli_json_deinit(&j);
}

/* With --json stdout holds the objects, and what people read goes to stderr. */
void verify_report_test(const verify_options *o, const verify_test *t, const verify_result *r, double seconds)
{
    if (o->json) json_line(o, t, r, seconds);
    if (r->outcome == VERIFY_FAILED || o->verbose)
        print_line(o->json ? stderr : stdout, t, r, seconds, o->verbose);
}

/* ---- JUnit ---- */

static void xml_text(cli_text *buf, const char *text)
{
    for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
        switch (*s) {
        case '<': cli_text_add(buf, "&lt;"); break;
        case '>': cli_text_add(buf, "&gt;"); break;
        case '&': cli_text_add(buf, "&amp;"); break;
        case '"': cli_text_add(buf, "&quot;"); break;
        default: cli_text_bytes(buf, *s < 0x20 || *s == 0x7f ? (const unsigned char *)" " : s, 1);
        }
    }
}

void verify_junit_init(verify_junit *j)
{
    *j = (verify_junit){0};
}

void verify_junit_add(verify_junit *j, const verify_test *t, const verify_result *r, double seconds)
{
    cli_text *b = &j->cases;
    j->tests++;
    j->seconds += seconds;
    j->failures += r->outcome == VERIFY_FAILED;
    j->skipped += r->outcome == VERIFY_SKIPPED;
    cli_text_add(b, "    <testcase classname=\"");
    xml_text(b, *r->target ? r->target : "gpuc");
    cli_text_add(b, "\" name=\"");
    xml_text(b, t->name);
    cli_text_printf(b, "\" time=\"%.3f\"", seconds);
    if (r->outcome == VERIFY_PASSED) {
        cli_text_add(b, "/>\n");
        return;
    }
    cli_text_printf(b, ">\n      <%s message=\"", r->outcome == VERIFY_FAILED ? "failure" : "skipped");
    xml_text(b, r->reason);
    cli_text_add(b, "\"/>\n    </testcase>\n");
}

gpuc_status verify_junit_write(verify_junit *j, const char *path)
{
    cli_text b = {0};
    cli_text_printf(
        &b,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
        "  <testsuite name=\"gpuc verify\" tests=\"%d\" failures=\"%d\" errors=\"0\" skipped=\"%d\" "
        "time=\"%.3f\">\n",
        j->tests, j->failures, j->skipped, j->seconds);
    cli_text_add(&b, cli_text_get(&j->cases));
    cli_text_add(&b, "  </testsuite>\n</testsuites>\n");
    gpuc_status status = gpuc_file_put(cli_pending, path, b.at, b.size);
    cli_text_free(&b);
    cli_text_free(&j->cases);
    return status;
}
