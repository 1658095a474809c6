/* check_tune_try.c - the settings that are tried on a device, and which of them is taken. */
#include "report/tune.h"
#include "tune_cases.h"

#include <string.h>

static struct tuned tune_all(struct settings *settings)
{
    const struct machine machine = tune_h200();
    struct tuned tuned;
    struct error error = {0};
    settings->tiles = settings->streams = 0;
    settings->order = ORDER_AUTO;
    settings->layout = LAYOUT_AUTO;
    settings->issue = ISSUE_AUTO;
    ck_assert_msg(tune_settings(settings, &machine, NULL, &tuned, &error) == STATUS_OK, "%s",
                  error.text);
    return tuned;
}

static struct settings settings_of(const char *kernels, uint64_t elements, uint32_t intensity)
{
    struct settings settings = test_settings(kernels);
    settings.elements = elements;
    settings.intensity = intensity;
    return settings;
}

/* They are in the order of their times, which are within a tenth of the choice's and are what
 * the simulator has for them; no two are alike, and there is something to choose from. */
START_TEST(finalists_are_nearly_as_good)
{
    static const struct {
        const char *kernels;
        uint32_t intensity;
    } work[] = {{"scale", 1}, {"scale", 1800}, {"scale", 3000}, {"sum", 1}};
    struct settings settings = settings_of(work[_i].kernels, 1 << 24, work[_i].intensity);
    const struct machine machine = tune_h200();
    const struct tuned tuned = tune_all(&settings);
    ck_assert_int_ge(tuned.finalists.count, 4);
    ck_assert_int_le(tuned.finalists.count, FINALISTS_MAX);
    ck_assert_int_le(tuned.finalists.all[0].time_ns, tuned.time_ns);
    for (int i = 0; i < tuned.finalists.count; i++) {
        const struct finalist *one = &tuned.finalists.all[i];
        ck_assert_int_le(one->time_ns, tuned.time_ns + tuned.time_ns / 10);
        ck_assert_int_eq(one->time_ns, tune_simulated_ns(&one->settings, &machine));
        for (int j = 0; j < i; j++) {
            ck_assert_int_le(tuned.finalists.all[j].time_ns, one->time_ns);
            ck_assert(!finalists_are_alike(&tuned.finalists.all[j].settings, &one->settings));
        }
    }
}
END_TEST

/* Where tiles are too many to simulate, nothing is known of the others. */
START_TEST(many_tiles_have_no_finalists)
{
    struct settings settings = settings_of("scale", 1 << 24, 1);
    const struct machine machine = tune_h200();
    struct tuned tuned;
    struct error error = {0};
    settings.tiles = 4096;
    settings.streams = 0;
    ck_assert_int_eq(tune_settings(&settings, &machine, NULL, &tuned, &error), STATUS_OK);
    ck_assert_int_eq(tuned.finalists.count, 0);
}
END_TEST

/* A device that takes as long as it likes. */
struct device {
    struct settings fastest;   /* this takes least */
    int64_t fastest_ns;        /* so long; all others 2000 */
    const struct settings *no; /* these can't be run; NULL: all can */
    enum status status;        /* how all end, if not well */
    int settings, runs;
    uint32_t fewest, most;
};

static enum status measure(void *context, const struct settings *settings, uint32_t runs,
                           int64_t *median_ns, struct error *error)
{
    struct device *device = context;
    if (device->status != STATUS_OK)
        return error_set(error, device->status, "the device says why");
    if (device->no != NULL && finalists_are_alike(settings, device->no))
        return error_set(error, STATUS_USAGE, "it can't be run");
    device->settings += runs == device->fewest || device->fewest == 0;
    if (device->fewest == 0 || runs < device->fewest)
        device->fewest = runs;
    if (runs > device->most)
        device->most = runs;
    device->runs += (int)runs;
    *median_ns = finalists_are_alike(settings, &device->fastest) ? device->fastest_ns : 2000;
    return STATUS_OK;
}

static enum status try_all(const struct tuned *tuned, const struct settings *chosen,
                           struct device *device, struct tried *tried, struct error *error)
{
    const struct settings usual = settings_of("scale", 1 << 24, 1800);
    return finalists_try(&tuned->finalists, chosen, &usual, measure, device, tried, error);
}

/* Whichever is the fastest is taken: any finalist, the choice itself, and what is usual. */
START_TEST(the_fastest_is_taken)
{
    struct settings chosen = settings_of("scale", 1 << 24, 1800);
    const struct tuned tuned = tune_all(&chosen);
    struct error error = {0};
    struct tried tried;
    for (int i = 0; i < tuned.finalists.count + 2; i++) {
        struct device device = {
            .fastest_ns = 1000,
            .fastest = i < tuned.finalists.count    ? tuned.finalists.all[i].settings
                       : i == tuned.finalists.count ? chosen
                                                    : settings_of("scale", 1 << 24, 1800)};
        const bool itself = finalists_are_alike(&device.fastest, &chosen);
        ck_assert_int_eq(try_all(&tuned, &chosen, &device, &tried, &error), STATUS_OK);
        ck_assert(finalists_are_alike(&tried.settings, &device.fastest));
        ck_assert_int_eq(tried.time_ns, 1000);
        ck_assert_int_eq(tried.chosen_ns, itself ? 1000 : 2000);
        ck_assert_int_ge(tried.count, tuned.finalists.count);
        ck_assert_int_le(tried.count, tuned.finalists.count + 2);
        ck_assert_int_eq(tried.count, device.settings);
        ck_assert_int_le(device.runs, 14 * 3 + 5 * 3 * 5);
        ck_assert_uint_gt(device.most, device.fewest); /* the last ones run more often */
    }
}
END_TEST

/* The choice stays where another is hardly faster. */
START_TEST(the_choice_stays)
{
    struct settings chosen = settings_of("scale", 1 << 24, 1800);
    const struct tuned tuned = tune_all(&chosen);
    struct device device = {.fastest_ns = 1985};
    struct error error = {0};
    struct tried tried;
    device.fastest = tuned.finalists.all[tuned.finalists.count - 1].settings;
    ck_assert(!finalists_are_alike(&device.fastest, &chosen));
    ck_assert_int_eq(try_all(&tuned, &chosen, &device, &tried, &error), STATUS_OK);
    ck_assert(finalists_are_alike(&tried.settings, &chosen));
    ck_assert_int_eq(tried.time_ns, 2000);
    ck_assert_int_eq(tried.chosen_ns, 2000);
}
END_TEST

/* What can't be run is left out, the choice, too; another error is passed on. */
START_TEST(what_cannot_be_run_is_left_out)
{
    struct settings chosen = settings_of("scale", 1 << 24, 1800);
    const struct tuned tuned = tune_all(&chosen);
    struct error error = {0};
    struct device device = {.fastest = chosen, .no = &chosen},
                  failing = {.status = STATUS_FAILED}, without = {.status = STATUS_USAGE};
    struct tried tried;
    ck_assert_int_eq(try_all(&tuned, &chosen, &device, &tried, &error), STATUS_OK);
    ck_assert_int_eq(tried.chosen_ns, 0);
    ck_assert(!finalists_are_alike(&tried.settings, &chosen));
    ck_assert_int_eq(tried.time_ns, 2000);
    ck_assert_int_eq(try_all(&tuned, &chosen, &failing, &tried, &error), STATUS_FAILED);
    ck_assert_str_eq(error.text, "the device says why");
    ck_assert_int_eq(try_all(&tuned, &chosen, &without, &tried, &error), STATUS_OK);
    ck_assert_int_eq(tried.count, 0);
    ck_assert(finalists_are_alike(&tried.settings, &chosen));
}
END_TEST

TCase *tune_try_case(void)
{
    TCase *one = tcase_create("try");
    tcase_add_loop_test(one, finalists_are_nearly_as_good, 0, 4);
    tcase_add_test(one, many_tiles_have_no_finalists);
    tcase_add_test(one, the_fastest_is_taken);
    tcase_add_test(one, the_choice_stays);
    tcase_add_test(one, what_cannot_be_run_is_left_out);
    return one;
}
