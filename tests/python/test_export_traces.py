"""`pmtop export --to=perfetto` and `--to=chrome-trace`, decoded with the readers' own definitions, against what happened."""
import collections
import functools
import json
import math
import re
import subprocess

import pytest

import watching

messages = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2")

TRAINER = str(watching.BUILD / "tests" / "workloads" / "trainer")
MADE_UP = str(watching.BUILD / "tests" / "python" / "made_up")
BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4

Slice = collections.namedtuple("Slice", "process track name begin end depth notes flows")


def value_of(note):
    return getattr(note, note.WhichOneof("value"))


class Perfetto:
    """A trace as its reader takes it: by time, and where times are equal in the order of the file."""

    def __init__(self, data):
        self.packets = messages.Trace.FromString(data).packet
        self.check_rules()
        self.tracks, self.slices, self.instants, self.counters = {}, [], [], collections.defaultdict(list)
        interned = {"event_names": {}, "event_categories": {}, "debug_annotation_names": {}}
        events = []
        for packet in self.packets:
            for kind, known in interned.items():
                for entry in getattr(packet.interned_data, kind):
                    assert entry.iid not in known
                    known[entry.iid] = entry.name
            if packet.HasField("track_descriptor"):
                self.tracks[packet.track_descriptor.uuid] = packet.track_descriptor
            if packet.HasField("track_event"):
                assert packet.track_event.track_uuid in self.tracks, "declared before it is used"
                event = packet.track_event
                name = event.name or interned["event_names"].get(event.name_iid)
                notes = {note.name or interned["debug_annotation_names"][note.name_iid]: value_of(note) for note in event.debug_annotations}
                events.append((packet.timestamp, event, name, notes))
        stacks = collections.defaultdict(list)
        for time, event, name, notes in sorted(events, key=lambda one: one[0]):
            stack, track = stacks[event.track_uuid], self.track(event.track_uuid)
            if event.type == BEGIN:
                stack.append((*track, name, time, len(stack), notes, list(event.flow_ids)))
            elif event.type == END:
                process, track, name, begin, depth, notes, flows = stack.pop()
                self.slices.append(Slice(process, track, name, begin, time, depth, notes, flows))
            elif event.type == INSTANT:
                self.instants.append(Slice(*track, name, time, time, 0, notes, []))
            else:
                self.counters[track].append((time, event.double_counter_value))
        assert not any(stacks.values()), "every slice has an end"

    def check_rules(self):
        first = self.packets[0].clock_snapshot
        self.clocks = {clock.clock_id: clock.timestamp for clock in first.clocks}
        assert first.primary_trace_clock == 3 and set(self.clocks) == {1, 3, 6}
        assert self.packets[0].trace_packet_defaults.timestamp_clock_id == 3
        assert [packet.sequence_flags for packet in self.packets] == [1] + [2] * (len(self.packets) - 1)
        assert {packet.trusted_packet_sequence_id for packet in self.packets} == {1}
        assert not any(packet.track_event.type == 0 for packet in self.packets if packet.HasField("track_event"))
        times = collections.defaultdict(int)
        for packet in self.packets:
            if packet.HasField("track_event") and packet.track_event.type in (BEGIN, END):
                assert packet.timestamp >= times[packet.track_event.track_uuid], "sorted"
                times[packet.track_event.track_uuid] = packet.timestamp

    def track(self, uuid):
        track = self.tracks[uuid]
        parent = self.tracks.get(track.parent_uuid)
        return parent.process.process_name if parent else None, track.thread.thread_name or track.name

    def realtime(self, time):
        return time + self.clocks[1] - self.clocks[3]

    def of(self, *tracks, process=None):
        return [one for one in self.slices if one.track in tracks and process in (None, one.process)]


class Chrome:
    def __init__(self, text):
        self.whole = json.loads(text)
        self.events = self.whole["traceEvents"]
        self.names = {(one["pid"], one["tid"]): one["args"]["name"] for one in self.events if one["name"] == "thread_name"}
        self.processes = {one["pid"]: one["args"]["name"] for one in self.events if one["name"] == "process_name"}
        self.slices = [(self.processes.get(one["pid"]), self.names[one["pid"], one["tid"]], one["name"], ns(one["ts"]), ns(one["ts"]) + ns(one["dur"]))
                       for one in self.events if one["ph"] == "X"]
        self.tracks = [(one["pid"], one["tid"]) for one in self.events if one["ph"] == "X"]


def ns(us):
    return round(us * 1000)


class Recording:
    def __init__(self, path):
        self.path = path

    def export(self, to, *options):
        command = [watching.PMTOP, "export", f"--to={to}", *options, str(self.path)]
        return subprocess.run(command, check=True, capture_output=True, env=watching.environment(), timeout=60).stdout

    @functools.cached_property
    def perfetto(self):
        return Perfetto(self.export("perfetto"))

    @functools.cached_property
    def chrome(self):
        return Chrome(self.export("chrome-trace"))

    @functools.cached_property
    def lines(self):
        return [json.loads(line) for line in self.export("jsonl").splitlines()]

    def of_type(self, kind):
        return [line for line in self.lines if line["type"] == kind]


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "run.pmtop"
    subprocess.run([watching.PMTOP, "-b", "-d", "0.1", "-w", str(path), "--", TRAINER, "--name", "digits", "--epochs", "2", "--batches", "80", "--step-ms", "3",
                    "--slow-every", "30", "--slow-ms", "40"], check=True, stdout=subprocess.DEVNULL, env=watching.environment(), timeout=60)
    return Recording(path)


# -- a run of which every nanosecond is known ----------------------------------------------------------------------------------------------

ZERO = 2_000_000_000


class Lane:
    """Emits events in order, with their sequence numbers."""

    def __init__(self, run, number):
        self.track, self.sequence, self.emitted_at, self.lines = (run, number), 0, 0, []

    def event(self, kind, time, *rest):
        self.emitted_at = max(self.emitted_at, ZERO + time)
        self.lines.append((self.emitted_at, " ".join(map(str, (kind, *self.track, self.sequence, ZERO + time, *rest)))))
        self.sequence += 1

    def span(self, name, begin, end, depth=0):
        self.event("span", end, name, depth, end - begin)

    def begin(self, number, time):
        self.event("batch_begin", time, number, number)

    def end(self, number, begin, end, loss="nan"):
        self.event("batch_end", end, number, number, ZERO + begin, loss)

    def lose(self, count):
        self.sequence += count


def emit_first(lane):
    """Equal starts and ends, nothing between, a length of zero, a missing loss, an end that was lost, one that has not come."""
    lane.event("epoch_begin", 900, 7)
    lane.begin(0, 1000)
    lane.span("decode", 1000, 1100, 1)
    lane.span("data", 1000, 1200)
    lane.span("empty", 1200, 1200)
    lane.span("forward", 1200, 1500)
    lane.span("gradient", 1500, 1500, 1)
    lane.span("gradient", 1500, 2000, 1)
    lane.span("backward", 1500, 2000)
    lane.end(0, 1000, 2000, 0.5)
    lane.event("mark", 2000, "saved")
    lane.span("write", 2000, 2050, 1)
    lane.span("checkpoint", 2000, 2100)
    lane.begin(1, 2100)
    lane.span("data", 2100, 2300)
    lane.lose(3)                # among them the begin of batch 2
    lane.span("data", 3000, 3100)
    lane.event("gauge", 3150, "lr", 0.25)
    lane.event("gauge", 3160, "lr", "nan")
    lane.end(2, 3000, 3500)
    lane.begin(3, 3500)
    lane.span("data", 3500, 3600)


FIRST = [("batch", 1000, 2000, 0), ("data", 1000, 1200, 1), ("decode", 1000, 1100, 2), ("empty", 1200, 1200, 1), ("forward", 1200, 1500, 1),
         ("backward", 1500, 2000, 1), ("gradient", 1500, 1500, 2), ("gradient", 1500, 2000, 2), ("checkpoint", 2000, 2100, 0), ("write", 2000, 2050, 1),
         ("batch", 2100, 2300, 0), ("data", 2100, 2300, 1), ("batch", 3000, 3500, 0), ("data", 3000, 3100, 1), ("batch", 3500, 5000, 0),
         ("data", 3500, 3600, 1), ("backward", 3600, 5000, 1)]


def emit_reader(lane):
    """A thread without batches, and what was published late and overlaps."""
    lane.span("open", 1000, 1000, 1)
    lane.span("load", 1000, 1500)
    lane.span("load", 1500, 1600)
    lane.span("upload", 1550, 1900)
    lane.span("late", 1100, 1300)


READER = [("load", 1000, 1500, 0), ("open", 1000, 1000, 1), ("load", 1500, 1600, 0)]
READER_BESIDE = [("late", 1100, 1300, 0), ("upload", 1550, 1900, 0)]


def emit_second(lane):
    """Another rank. A span about all of its batches; one that began before its batch and ends in it; one published before its own begin."""
    for number in range(3):
        begin = 1000 + 500 * number
        lane.begin(number, begin)
        lane.span("forward", begin, begin + 200, 1)
        if number == 1:
            lane.span("prefetch", begin - 100, begin + 250, 1)
        lane.end(number, begin, begin + 400, number)
    lane.span("loop", 900, 2600)


SECOND = [("batch", 1000, 1400, 0), ("forward", 1000, 1200, 1), ("batch", 1500, 1900, 0), ("forward", 1500, 1700, 1), ("batch", 2000, 2400, 0),
          ("forward", 2000, 2200, 1)]
SECOND_BESIDE = [("prefetch", 1400, 1750, 0), ("loop", 900, 2600, 0)]


@pytest.fixture(scope="module")
def made_up(tmp_path_factory):
    lanes = [Lane(0, 0), Lane(0, 1), Lane(1, 0)]
    for lane, emit in zip(lanes, (emit_first, emit_reader, emit_second)):
        emit(lane)
    lines = [f"set {ZERO + 800}", "process 4711 train.py", "resident 4711 1000000", "run 0 4711 digits", "run 1 4712 digits"]
    lines += [f"meta {run} {key} {value}" for run in range(2) for key, value in (("RANK", run), ("WORLD_SIZE", 2))]
    reported = sorted((line for lane in lanes for line in lane.lines), key=lambda one: one[0])
    for until in range(1500, 4500, 500):        # an end in a later set than its begin
        lines += [f"set {ZERO + until}"] + [line for time, line in reported if until - 500 < time - ZERO <= until or (until == 1500 and time - ZERO <= 1000)]
    lines += [f"set {ZERO + 5000}", "open 0 0 backward 0 1400", "resident 4711 2000000"]
    path = tmp_path_factory.mktemp("made_up") / "run.pmtop"
    subprocess.run([MADE_UP, str(path)], input="\n".join(lines) + "\n", check=True, text=True, timeout=20)
    return Recording(path)


def slices_of(trace, *tracks, process):
    return sorted((one.name, one.begin - ZERO, one.end - ZERO, one.depth) for one in trace.of(*tracks, process=process))


def test_every_slice_is_there_as_long_and_as_deep_as_it_was(made_up):
    trace = made_up.perfetto
    assert slices_of(trace, "lane 0", process="digits, rank 0") == sorted(FIRST)
    assert slices_of(trace, "lane 1", process="digits, rank 0") == sorted(READER)
    assert slices_of(trace, "lane 1, beside 1", "lane 1, beside 2", process="digits, rank 0") == sorted(READER_BESIDE)
    assert slices_of(trace, "lane 0", process="digits, rank 1") == sorted(SECOND)
    assert slices_of(trace, "lane 0, beside 1", "lane 0, beside 2", process="digits, rank 1") == sorted(SECOND_BESIDE)
    lanes = {one.track for one in trace.slices if one.track.startswith("lane")}
    assert len(trace.of(*lanes)) == sum(map(len, (FIRST, READER, READER_BESIDE, SECOND, SECOND_BESIDE)))


def test_what_lies_in_a_slice_is_that_which_lay_in_it(made_up):
    """Depths alone would not distinguish two slices of equal start that were swapped."""
    slices = made_up.perfetto.of("lane 0", process="digits, rank 0")
    for inner, outer in (("decode", "data"), ("write", "checkpoint")):
        one = next(one for one in slices if one.name == inner)
        above = [other for other in slices if other.depth == one.depth - 1 and other.begin <= one.begin and other.end >= one.end]
        assert [other.name for other in above] == [outer]


def test_an_end_that_is_not_known_is_said(made_up):
    unfinished = {(one.name, one.end - ZERO) for one in made_up.perfetto.slices if "end" in one.notes}
    assert unfinished == {("batch", 2300), ("batch", 5000), ("backward", 5000), ("epoch 7", 5000)}
    gaps = [(one.name, one.begin - ZERO, one.end - ZERO) for one in made_up.perfetto.of("lost events")]
    assert gaps == [("3 events lost", 2300, 3100)]


def test_missing_values_are_left_out(made_up):
    trace = made_up.perfetto
    losses = [one.notes.get("loss") for one in sorted(trace.of("lane 0", process="digits, rank 0"), key=lambda one: one.begin) if one.name == "batch"]
    assert losses == [0.5, None, None, None]
    assert trace.counters["digits, rank 0", "lr"] == [(ZERO + 3150, 0.25)]
    assert trace.counters["digits, rank 0", "loss"] == [(ZERO + 2000, 0.5)]
    assert [value for _, value in trace.counters["digits, rank 0", "resident memory"]] == [1e6, 2e6]
    assert not [value for points in trace.counters.values() for _, value in points if math.isnan(value)]
    assert [(one.name, one.begin - ZERO) for one in trace.instants if one.track == "marks"] == [("saved", 2000)]


def test_clocks_are_those_of_the_recording(made_up):
    clocks = made_up.perfetto.clocks
    assert clocks[1] - clocks[3] == 1_700_000_000_000_000_000 - 1_000_000_000 and clocks[6] - clocks[3] == 5_000_000_000


def test_tracks_have_the_same_number_each_time(made_up):
    assert set(Perfetto(made_up.export("perfetto")).tracks) == set(made_up.perfetto.tracks)


def test_chrome_has_the_same_slices(made_up, trained):
    for recording in (made_up, trained):
        def name(one):
            return f"ProfilerStep#{one.notes['number']}" if one.name == "batch" else one.name
        truth = sorted((one.process or "None", one.track, name(one), one.begin, one.end) for one in recording.perfetto.slices)
        assert sorted((process or "None", *rest) for process, *rest in recording.chrome.slices) == truth


def test_chrome_slices_nest_and_belong_somewhere(made_up, trained):
    for chrome in (made_up.chrome, trained.chrome):
        assert chrome.whole["schemaVersion"] == 1 and {one["ph"] for one in chrome.events} <= set("MXCisf")
        stacks = collections.defaultdict(list)
        # By track, not by its name: workers that live at the same time have tracks of one name.
        for thread, (process, track, name, begin, end) in zip(chrome.tracks, chrome.slices):
            stack = stacks[thread]
            while stack and stack[-1] <= begin:
                stack.pop()
            assert not stack or end <= stack[-1], (process, track, name)
            stack.append(end)
    assert made_up.chrome.whole["distributedInfo"] == {"rank": 0, "world_size": 2}
    # By this pattern Holistic Trace Analysis (too heavy for a test; it loads these) knows the rank.
    assert re.search(rb'"rank":\s+(\d+)', made_up.export("chrome-trace")).group(1) == b"0"


# -- a real run ----------------------------------------------------------------------------------------------------------------------------


def batches_of(trace):
    return sorted((one for one in trace.of("lane 0") if one.notes.get("number") is not None), key=lambda one: one.begin)


def test_batches_are_those_of_the_json_lines(trained):
    truth = sorted(trained.of_type("batch"), key=lambda line: line["time_ns"])
    reported = batches_of(trained.perfetto)
    assert len(reported) == len(truth) > 160
    for one, line in zip(reported, truth):
        assert trained.perfetto.realtime(one.begin) == line["time_ns"]
        assert math.isclose((one.end - one.begin) * 1e-9, line["batch_s"], rel_tol=1e-9)
        assert one.name == ("batch" if line["mode"] == "train" else f"{line['mode']} batch")
        assert one.notes["index"] == line["index"] and one.notes.get("epoch") == line.get("epoch")
        for key in ("loss", "samples", "step_s"):
            assert one.notes.get(key) == pytest.approx(line.get(key), rel=1e-9) if key in line else key not in one.notes
        assert one.notes.get("flagged", False) == line["flagged"]
        if line["flagged"] and line["causes"]:
            assert one.notes["cause"] == line["causes"][0]["what"]


def test_phases_are_those_of_the_json_lines(trained):
    slices = sorted(trained.perfetto.of("lane 0"), key=lambda one: (one.begin, one.depth))
    for one, line in zip(batches_of(trained.perfetto), sorted(trained.of_type("batch"), key=lambda line: line["time_ns"])):
        sums = collections.Counter()
        for inner in slices:
            if inner.depth == 1 and one.begin <= inner.begin < one.end:
                sums[inner.name] += (inner.end - inner.begin) * 1e-9
        truth = {phase["name"]: phase["seconds"] for phase in line["phases"] if "parent" not in phase}
        for name, seconds in sums.items():
            assert math.isclose(seconds, truth[name], rel_tol=1e-5, abs_tol=1e-7), name
        assert set(truth) - set(sums) <= {"unattributed", "between", "checkpoint"}


def test_flags_epochs_marks_and_warnings_are_there(trained):
    trace, flagged = trained.perfetto, [line for line in trained.of_type("batch") if line["flagged"]]
    assert [trace.realtime(one.begin) for one in trace.instants if one.track == "flagged batches"] == [line["time_ns"] for line in flagged]
    assert [one.name for one in trace.of("epochs")] == [f"epoch {line['index']}" for line in trained.of_type("epoch")]
    for one, line in zip(trace.of("epochs"), trained.of_type("epoch")):
        assert math.isclose((one.end - one.begin) * 1e-9, line["total_s"], rel_tol=1e-9) and one.notes["batches"] == line["batches"]
    assert [one.name for one in trace.instants if one.track == "marks"] == [line["text"] for line in trained.of_type("mark")]
    raised = {(line["rule"], line["since_ns"]) for line in trained.of_type("warning")}
    assert {(one.notes["rule"], trace.realtime(one.begin)) for one in trace.of("warnings")} == raised
    flows = {flow for one in batches_of(trace) for flow in one.flows}
    assert {flow for one in trace.of("warnings") for flow in one.flows} <= flows
    assert {track.sibling_order_rank for track in trace.tracks.values() if track.name == "warnings"} <= {-1}


def test_since_and_until_cut_what_reaches_across(trained):
    batches = batches_of(trained.perfetto)
    since, until = batches[20].begin, batches[60].end
    part = Perfetto(trained.export("perfetto", "--since=#20", "--until=#60"))
    assert min(one.begin for one in part.slices) == since
    whole = [one for one in trained.perfetto.of("lane 0") if since <= one.begin and one.end <= until]
    reported = [one for one in part.of("lane 0") if "cut" not in one.notes]
    assert {(one.name, one.begin, one.end, one.depth) for one in whole} <= {(one.name, one.begin, one.end, one.depth) for one in part.of("lane 0")}
    assert len(reported) <= len(whole) + 30
    epochs = part.of("epochs")
    assert epochs and epochs[0].begin == since and "cut" in epochs[0].notes
    assert all(since <= time for points in part.counters.values() for time, _ in points)
