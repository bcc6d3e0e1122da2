"""Real trainers that are ranks of one run by their environment, watched through the pid of one: none is another's child."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = os.environ["PMTOP_BUILD"]
PMTOP, TRAINER = BUILD + "/pmtop", BUILD + "/tests/workloads/trainer"


def until(condition, what, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise AssertionError("%s did not happen in %g s" % (what, seconds))


def said(*arguments):
    done = subprocess.run([PMTOP, *map(str, arguments)], capture_output=True, text=True, timeout=30, env=dict(os.environ, LC_ALL="C.UTF-8"))
    assert done.returncode == 0, done.stderr
    return done.stdout


class Ranks(unittest.TestCase):
    def setUp(self):
        self.started = []
        self.monitors = []
        self.strays = []
        self.run_id = "%d.%s" % (os.getpid(), self.id())

    def tearDown(self):
        for process, output in self.monitors:
            process.kill()
            process.wait()
            output.close()
        for process in self.started:
            process.kill()
            process.wait()
        for pid in self.strays + [process.pid for process in self.started]:
            for name in os.listdir("/dev/shm"):
                if name.startswith("pmtop.%d.%d." % (os.getuid(), pid)):
                    os.unlink("/dev/shm/" + name)

    def start(self, rank, *options, run_id=None, world=2, under=()):
        """`under`: the command that starts the trainer."""
        env = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(world), PMTOP_RUN_ID=run_id or self.run_id)
        arguments = ["--name", "ranks", "--workers", 0, "--epochs", 1000, "--batches", 20, "--step-ms", 5, *options]
        process = subprocess.Popen([*under, TRAINER, *map(str, arguments)], env=env, stdout=subprocess.DEVNULL)
        self.started.append(process)
        return process

    def watch(self, pid):
        """pmtop -b beside it: a function that gives the newest object."""
        output = tempfile.TemporaryFile("w+")
        process = subprocess.Popen([PMTOP, "-b", "--format=json", "-d", "0.2", "-p", str(pid)], stdout=output, stdin=subprocess.DEVNULL)
        self.monitors.append((process, output))

        def newest():
            # pmtop writes where the file's one offset stands: reading must not move it.
            reported = os.pread(output.fileno(), os.fstat(output.fileno()).st_size, 0).decode()
            lines = [line for line in reported.split("\n")[:-1] if line]
            return json.loads(lines[-1]) if lines else {}
        return newest

    def pair(self):
        fast, slow = self.start(0), self.start(1, "--slow-every", 1, "--slow-ms", 80)
        return fast, slow

    def test_the_slowest_is_named_with_its_phase_whichever_rank_is_watched(self):
        fast, slow = self.pair()
        for number, process in enumerate((fast, slow)):
            newest = self.watch(process.pid)
            reported = until(lambda: newest().get("slowest") and newest(), "that a slowest is named")
            self.assertEqual(reported["rank"], number)
            self.assertEqual(reported["pid"], process.pid)
            self.assertEqual(reported["world_size"], 2)
            self.assertEqual([(r["rank"], r["pid"]) for r in reported["ranks"]], [(0, fast.pid), (1, slow.pid)])
            self.assertEqual([r["is_slowest"] for r in reported["ranks"]], [False, True])
            self.assertEqual((reported["slowest"]["rank"], reported["slowest"]["phase"]), (1, "data"))
            self.assertGreater(reported["slowest"]["phase_s"], 0.08)
            self.assertLess(reported["slowest"]["phase_others_s"], 0.04)
            # The other's memory is its own, and not the tree's.
            self.assertTrue(all(r["rss_bytes"] > 1e6 for r in reported["ranks"]))
            self.assertEqual(reported["memory"]["tree_rss_bytes"], reported["memory"]["rss_bytes"])
            until(lambda: any(w["rule"] == "slowest_rank" for w in newest()["warnings"]), "the warning")

    def test_list_report_lines_and_screen_say_the_same(self):
        # The slow one has the lower pid: ranks are listed by their numbers.
        slow, fast = self.start(1, "--slow-every", 1, "--slow-ms", 80), self.start(0)
        newest = self.watch(fast.pid)
        until(lambda: newest().get("slowest"), "that a slowest is named")
        rows = [row for row in json.loads(said("list", "--json")) if row.get("run_id") == self.run_id]
        self.assertEqual([(row["pid"], row["rank"], row.get("is_slowest")) for row in rows], [(fast.pid, "0/2", None), (slow.pid, "1/2", True)])
        self.assertRegex(said("list"), r"(?m)^%d .*\n%d .*slowest, " % (fast.pid, slow.pid))
        self.assertRegex(said("report", fast.pid), r"RANKS\n=+\n.*\n-+\n0 +%d .*\n1 slowest +%d .*\n-+\nrank 1 is slowest: data " % (fast.pid, slow.pid))
        self.assertRegex(said("-b", "-n", "12", "-d", "0.2", "-p", fast.pid), r"Batch timing: .*\n  Ranks: rank 1 is slowest: data ")
        screen = said("--once", "--size=80x24", "-p", slow.pid)
        self.assertIn("rank 1/2 · slowest 1", screen.split("\n")[0])
        self.assertIn("rank 1 is slowest: data", screen)

    def test_a_rank_that_comes_later_is_found_and_a_stranger_is_not(self):
        first = self.start(0)
        self.start(1, run_id=self.run_id + ".other")
        newest = self.watch(first.pid)
        until(lambda: newest().get("batch", {}).get("count", 0) > 20, "that it trains")
        self.assertEqual([r["pid"] for r in newest()["ranks"]], [first.pid])
        self.assertNotIn("run 1 of", said("--once", "--size=160x40", "-p", first.pid))
        later = self.start(1)
        reported = until(lambda: len(newest()["ranks"]) == 2 and newest(), "that the later rank is found")
        self.assertEqual(reported["ranks"][1]["pid"], later.pid)

    def test_a_stopped_rank_is_named_until_it_goes_on(self):
        fast, slow = self.pair()
        newest = self.watch(fast.pid)
        until(lambda: len(newest().get("ranks", [])) == 2 and newest()["ranks"][1]["batches"] > 12, "that both train")
        slow.send_signal(signal.SIGSTOP)
        reported = until(lambda: newest().get("still") and newest(), "that the stopped rank is named")
        self.assertEqual((reported["still"]["rank"], reported["still"]["state"]), (1, "stopped"))
        self.assertEqual(reported["ranks"][0]["state"], "running")
        slow.send_signal(signal.SIGCONT)
        until(lambda: "still" not in newest() and newest()["ranks"][1]["state"] == "running", "that it goes on")

    def test_a_rank_that_hangs_alone_is_stuck(self):
        fast = self.start(0)
        self.start(1, "--hang-at", 30)
        newest = self.watch(fast.pid)
        reported = until(lambda: newest().get("still") and newest(), "that the stuck rank is named")
        self.assertEqual((reported["still"]["rank"], reported["still"]["state"], reported["ranks"][1]["open_span"]), (1, "stuck", "backward"))
        self.assertEqual(reported["ranks"][1]["batches"], 30)

    def test_a_rank_of_an_earlier_run_at_the_same_address_is_none_of_this(self):
        earlier = self.start(1)
        until(lambda: any(row["pid"] == earlier.pid and row.get("batches_in_epoch") for row in json.loads(said("list", "--json"))), "that it trains")
        earlier.kill()
        earlier.wait()
        only = self.start(0)
        newest = self.watch(only.pid)
        until(lambda: newest().get("batch", {}).get("count", 0) > 20, "that it trains")
        # Other ranks are looked for every two seconds.
        time.sleep(3)
        self.assertEqual([r["pid"] for r in newest()["ranks"]], [only.pid])
        self.assertNotIn("still", newest())

    def test_a_killed_rank_is_named_also_by_a_pmtop_that_comes_later(self):
        fast, slow = self.pair()
        newest = self.watch(fast.pid)
        until(lambda: len(newest().get("ranks", [])) == 2 and newest()["ranks"][1]["batches"] > 12, "that both train")
        slow.kill()
        slow.wait()
        reported = until(lambda: newest().get("still") and newest(), "that the killed rank is named")
        self.assertEqual((reported["still"]["rank"], reported["still"]["state"]), (1, "killed"))
        late = json.loads(said("-b", "--format=json", "-n", "1", "-p", fast.pid))
        self.assertEqual([r["state"] for r in late["ranks"]], ["running", "killed"])
        self.assertEqual(late["ranks"][1]["batches"], reported["ranks"][1]["batches"])
        # Started again, it takes its place.
        again = self.start(1)
        reported = until(lambda: newest()["ranks"][1]["pid"] == again.pid and newest(), "that the new one is found")
        self.assertNotIn("still", reported)
        self.assertEqual(len(reported["ranks"]), 2)

    def test_a_run_that_was_killed_is_read_whole_by_its_name(self):
        fast, slow = self.pair()
        newest = self.watch(fast.pid)
        until(lambda: newest().get("slowest"), "that a slowest is named")
        for process in (fast, slow):
            process.kill()
            process.wait()
        for name, shown in (("ranks.%d" % slow.pid, 1), ("ranks.%d" % fast.pid, 0)):
            last = json.loads(said("-b", "--format=json", "-s", name).splitlines()[-1])
            self.assertEqual(last["rank"], shown)
            self.assertEqual([(r["rank"], r["pid"], r["state"]) for r in last["ranks"]], [(0, fast.pid, "killed"), (1, slow.pid, "killed")])
            self.assertEqual(last["slowest"]["rank"], 1)

    def test_what_one_rank_was_found_by_may_end(self):
        parent = self.start(0, under=("sh", "-c", '"$0" "$@"; exec sleep 60'))
        elsewhere = self.start(1)
        newest = self.watch(parent.pid)
        reported = until(lambda: len(newest().get("ranks", [])) == 2 and newest(), "that both are found")
        self.strays.append(reported["ranks"][0]["pid"])
        os.kill(reported["ranks"][0]["pid"], signal.SIGKILL)
        batches = until(lambda: newest().get("still") and newest(), "that the killed rank is named")["ranks"][1]["batches"]
        # A little longer than any pause between two looks at whether it is there.
        reported = until(lambda: newest()["ranks"][1]["batches"] > batches + 100 and newest(), "that the other goes on")
        self.assertEqual([(r["pid"], r["state"]) for r in reported["ranks"]][1], (elsewhere.pid, "running"))

    def test_the_end_of_the_rank_that_is_watched_ends_pmtop(self):
        first, second = self.pair()
        newest = self.watch(first.pid)
        until(lambda: len(newest().get("ranks", [])) == 2, "that both are found")
        first.send_signal(signal.SIGTERM)
        self.assertEqual(self.monitors[0][0].wait(10), 0)
        self.assertEqual(newest()["rank"], 0)
        self.assertEqual(newest()["ranks"][0]["state"], "ended")
        self.assertIsNone(second.poll())

    def test_one_process_is_no_rank(self):
        alone = self.start(0, world=1)
        newest = self.watch(alone.pid)
        reported = until(lambda: newest().get("batch", {}).get("count", 0) > 12 and newest(), "that it trains")
        self.assertFalse({"ranks", "slowest", "still", "world_size"} & set(reported))


if __name__ == "__main__":
    result = unittest.main(exit=False, verbosity=1, argv=sys.argv).result
    bad = len(result.failures) + len(result.errors)
    print("%d passed, %d failed" % (result.testsRun - bad, bad))
    sys.exit(bad > 0)
