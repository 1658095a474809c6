/* order.c - whether the order of issue, depth or breadth, matters to a run. */
#include "report/report.h"

#include "causes/knobs.h"
#include "core/escape.h"
#include "core/units.h"

#include <math.h>
#include <stdio.h>

static const double APART = 0.01;   /* times that differ by a smaller part are alike */
static const double MATTERS = 0.05; /* from here on it is worth a word to who did not ask */

/* Returns by which part of its own time the other order's time differs. */
static double apart(int64_t own_ns, int64_t other_ns)
{
    return fabs((double)other_ns / (double)own_ns - 1);
}

static enum order other_order(const struct settings *settings)
{
    return settings->order == ORDER_DEPTH ? ORDER_BREADTH : ORDER_DEPTH;
}

enum status order_weigh(struct run_report *run, const struct plan *plan,
                        const struct settings *settings, const struct machine *model,
                        struct error *error)
{
    enum { OPS_MOST = 100000 }; /* of more, simulations would take long */
    struct settings other = *settings;
    struct error why = {0};
    int64_t own_ns, other_ns;
    if (settings->layout != LAYOUT_TILE || settings->streams < 2 || plan->tiles < 2 ||
        settings->mistake != MISTAKE_NONE || plan->op_count > OPS_MOST)
        return STATUS_OK;
    other.order = other_order(settings);
    enum status status = whatif_time(settings, model, &own_ns, &why);
    if (status == STATUS_OK)
        status = whatif_time(&other, model, &other_ns, &why);
    if (status == STATUS_OK && (settings->order_given || apart(own_ns, other_ns) >= APART))
        run->other_order_ns =
            (int64_t)((double)other_ns * ((double)run->median_ns / (double)own_ns));
    return status == STATUS_NO_MEMORY ? error_pass(error, &why) : STATUS_OK;
}

void order_message(const struct report *report, char text[ORDER_TEXT])
{
    enum { NAME_COLUMNS = 40 };
    const struct run_report *most = NULL; /* the run to which it matters most */
    char own[UNITS_TEXT], other[UNITS_TEXT], name[RUN_NAME_MAX] = "it";
    text[0] = '\0';
    EACH (const struct run_report, run, report->runs, report->run_count) {
        if (run->other_order_ns == 0 || (!run->settings->order_given &&
                                         apart(run->median_ns, run->other_order_ns) < MATTERS))
            continue;
        if (most != NULL && most->settings->order != run->settings->order)
            return; /* the table compares them */
        if (most == NULL || apart(run->median_ns, run->other_order_ns) >
                                apart(most->median_ns, most->other_order_ns))
            most = run;
    }
    if (most == NULL)
        return;
    const struct verdict *first = &most->verdicts.items[0];
    const int64_t fixed_ns = most->verdicts.named > 0 ? first->predicted_ns : 0;
    if (report->run_count > 1)
        escape_fit(name, sizeof name, most->settings->name, NAME_COLUMNS, "..");
    else if (fixed_ns > 0 && apart(fixed_ns, most->other_order_ns) < APART)
        return; /* the answer has it */
    const char *order = order_names[other_order(most->settings)];
    if (apart(most->median_ns, most->other_order_ns) < APART)
        snprintf(
            text, ORDER_TEXT,
            "the order of issue makes no difference here: --order=%s takes as long; on GPUs "
            "before compute capability 3.5 it may: try --device=sim:c2050, or pipeline "
            "lesson 13",
            order);
    else
        snprintf(
            text, ORDER_TEXT,
            "the order of issue matters %shere: with --order=%s %s would take %s instead of "
            "%s",
            apart(most->median_ns, most->other_order_ns) < MATTERS ? "little " : "", order,
            name, units_time(most->other_order_ns, other), units_time(most->median_ns, own));
}
