"""What programs hand to the hook must not fail in it: tests/hook.t runs this with the hook in
PYTHONPATH. It ends with 0 where all holds."""
import contextlib
import multiprocessing
import queue
import sys
import threading
import time
import types
import typing
import unittest.mock
import weakref

import torch_early  # first
import torch

from torch_program import Bare, loader_of


class Length:
    """Of the kind that only a program knows why."""

    def __len__(self):
        raise RuntimeError("not yet")


def main():
    """What programs hand to the hook must not fail in it."""
    from dsa_batches import Pool, Stream, count
    from dsa_hook import Hook
    from dsa_recipe import innermost
    assert count(Length()) == 0 and count([1]) == 1
    stream = Stream([], iter([torch.arange(3)]))  # one of NumPy's is as long
    next(stream)
    assert stream.returned([None] * 3) == stream.most == 3 and not stream.whole
    itself = types.SimpleNamespace()
    itself.dataset = itself
    assert innermost(itself) == (itself, "SimpleNamespace")
    hook, mine, other = Hook(None, None, None), [torch.ones(2)], [torch.ones(2)]
    hook.loading, hook.backwards, hook.driven = True, 3, 5
    for data, steps, driven, same in ((other, 0, 5, False), (other, 1, 4, False),
                                      (other, 1, 5, True), (mine, 0, 0, True)):
        it = types.SimpleNamespace(_dsa_loads=(data, 8, True), _dsa_loader=None, _dsa_steps=steps,
                                   _dsa_driven=driven, _dsa_backwards=2)
        hook.loader, hook.loads = (lambda: None), (mine, 8, True)
        assert hook.succeeds(it) == same
    with torch.inference_mode():
        pool = Pool(torch)
        pool.add(mine, 2)
        pool.give()[0][0].zero_()
        assert pool.give()[0][0].eq(1).all()
    pool.clear()
    pool.add(mine, 2)
    (pool.give()[0][0].requires_grad_() * 2).sum().backward()
    given = pool.give()[0][0]
    assert not given.requires_grad and given.grad is None
    given.data = torch.zeros(3)
    assert pool.give()[0][0].equal(torch.ones(2))
    guard_pinned(Pool(torch))
    guard_passing(Pool(torch))
    guard_state(Hook)
    guard_patience(Hook(None, None, None))
    guard_skipping()
    guard_waiting()
    guard_devices()
    guard_other(Hook)
    guard_worker()
    guard_nested()
    guard_together()
    guard_names()
    guard_endless(Hook)
    guard_loaders(Hook)  # whose loops have ended


def guard_names():
    """What stands for a loader's data set is not named in its place."""
    from dsa_hook import name_of_data
    outer = types.SimpleNamespace(dataset=Length())
    outer.fake_l = types.SimpleNamespace(d=outer)
    assert name_of_data(outer.fake_l) == "Length"
    outer.dataset = None
    assert name_of_data(outer.fake_l) == name_of_data(outer) == "SimpleNamespace"


class Goes:
    """A sampler of four that ends after so many."""

    def __init__(self, end):
        self.end = end

    def __len__(self):
        return 4

    def __iter__(self):
        return iter(range(self.end))


def guard_endless(kind):
    """A sampler is without end that goes on by itself, not where dsa begins it anew or where
    its length is not quite right."""
    from dsa_batches import Stream
    for end, left, found in ((99, 0, True), (99, 1, True), (4, 0, False), (6, 0, False),
                             (4, 1, False), (8, 1, False)):
        told = []
        hook = kind(None, types.SimpleNamespace(beyond=told.append), None)
        stream = Stream(Goes(end), iter(Goes(end)))
        stream.endless = lambda left=left: not left
        hook.loading, hook.length = types.SimpleNamespace(stream=stream), 4
        for _ in range(30):
            next(stream, None)  # torch asks again where it has ended
            hook.check_endless()
        assert told == [3] * found and hook.endless == found, (end, left, told)


def guard_passing(pool):
    """What a batch takes from process to process leaves no thread, and no master where others
    see it; one that goes to no other process takes nobody knows what."""
    threads = threading.active_count()
    pool.add({"x": torch.ones(8 << 18), "y": [torch.ones(2), "name"]}, 2)
    assert all(ns > 0 for ns in pool.passing_ns())
    assert threading.active_count() == threads and not pool.masters[0]["x"].is_shared()
    pool.clear()
    pool.add([torch.ones(2), types.SimpleNamespace(why=lambda: 1)], 2)
    assert pool.passing_ns() == (0, 0) and threading.active_count() == threads


def guard_other(kind):
    """Batches of a process that is left alone have its loader's key: they are none of those of
    the process that is measured."""
    from dsa_hook import patch_iterator
    module = torch.utils.data.dataloader
    hook = kind(module, None, module._BaseDataLoaderIter.__next__)
    hook.turn_off()
    patch_iterator(hook, module)
    it = iter(torch.utils.data.DataLoader([1, 2]))
    assert next(it) == 1 and it._dataset_fetcher._dsa_key != 0


def guard_worker():
    """A worker that was not forked knows its loader by the data set that it was given, whatever
    the program makes of that before its first batch."""
    import dsa_fetch
    worker = torch.utils.data._utils.worker
    was, dsa_fetch.begun = dsa_fetch.begun, None
    dsa_fetch.patch_worker(worker.WorkerInfo)
    data = [1, 2, 3]
    key = dsa_fetch.data_key(data)
    worker._worker_info = worker.WorkerInfo(id=0, num_workers=1, seed=5, dataset=data)
    data.pop()
    assert dsa_fetch.data_of(types.SimpleNamespace(dataset=data)) == key != \
        dsa_fetch.data_key(data)
    worker._worker_info, dsa_fetch.begun = None, was


def guard_nested():
    """A loader that a data set has for its samples makes none of the batches that count."""
    from dsa_fetch import patch_fetcher
    library, inner = unittest.mock.MagicMock(), types.SimpleNamespace

    class Fetcher:
        def __init__(self, dataset):
            self.dataset = dataset

        def fetch(self, index):
            return [self.dataset.fetch([i]) if index == [3, 4] else i for i in index]

    patch_fetcher(library, Fetcher)
    assert Fetcher(Fetcher(inner())).fetch([3, 4]) == [[3], [4]]
    library.batch_begin.assert_called_once()
    library.batch_end.assert_called_once_with(2)
    Fetcher(inner()).fetch([5])
    assert library.batch_begin.call_count == 2


class Together(torch.utils.data.Dataset):
    """Makes batches alone."""

    def __getitems__(self, indices):
        return [-index for index in indices]


def guard_together():
    """Samples that are made together stay so, those of torch's Subset where it has them so."""
    from dsa_fetch import Padded
    from dsa_transforms import Watched
    fetch, subset = torch.utils.data._utils.fetch._MapDatasetFetcher, torch.utils.data.Subset
    had = vars(subset).get("__getitems__")
    subset.__getitems__ = lambda one, indices: \
        one.dataset.__getitems__([one.indices[index] for index in indices])
    told, padded = [], []
    meter = types.SimpleNamespace(time=lambda: 0, library=types.SimpleNamespace(
        sample=lambda index, took: told.append(index)))
    for data, made, alone in ((Together(), [-1, -2], False), ([0, 5, 6], [5, 6], True)):
        for data in (data, subset(subset(data, range(3)), range(3))):
            told.clear()
            padded.clear()
            data = Watched(Padded(data, padded.append), meter)
            assert fetch(data, True, list, False).fetch([1, 2]) == made
            assert len(padded) == 2 and told == [1, 2] * alone
    if had is None:
        del subset.__getitems__
    else:
        subset.__getitems__ = had


class Saved:
    """A sampler's iterator with a state, as those of torchdata's StatefulDataLoader."""

    def __init__(self, at=0):
        self.at = at

    def __iter__(self):
        return Saved(self.at)

    def __next__(self):
        self.at += 2
        return torch.tensor([self.at - 2, self.at - 1])

    def state_dict(self):
        return {"at": self.at}

    def load_state_dict(self, state):
        self.at = state["at"]


@typing.runtime_checkable
class Stateful(typing.Protocol):
    """How programs find what has a state."""

    def state_dict(self):
        """What load_state_dict() takes."""

    def load_state_dict(self, state):
        """Goes on from there."""


def guard_state(kind):
    """What a program saves of its sampler is as without dsa; so is what it restores, by a
    sampler that it begins itself: its batches are counted, too."""
    from dsa_batches import Stream
    from dsa_hook import patch_iterator
    module = torch.utils.data.dataloader
    library = types.SimpleNamespace(observes=lambda: 0)
    hook = kind(module, library, module._BaseDataLoaderIter.__next__)
    patch_iterator(hook, module)
    it = iter(torch.utils.data.DataLoader(range(9), batch_sampler=Saved()))
    assert next(it).tolist() == [0, 1]
    stream = it._sampler_iter
    assert isinstance(stream, Stream) and stream.most == 2 and not stream.whole
    assert isinstance(stream, Stateful) and stream.state_dict() == {"at": 2}
    stream.load_state_dict({"at": 4})
    assert stream.own.at == 4
    it._task_info = {0: (0,)}  # asked for when nobody looked
    it._sampler_iter = Saved(6)
    assert next(it).tolist() == [6, 7]
    stream = it._sampler_iter
    assert isinstance(stream, Stream) and stream.most == 2 and len(stream.given) == 1
    assert not isinstance(iter(loader_of([1]))._sampler_iter, Stateful) and not hook.off
    hook.turn_off()
    Stream.counting = True


def guard_skipping():
    """A program skips that trains from none beyond the end, but for what it never trains from."""
    from dsa_training import IDLE, TOGETHER, Training
    for every, beyond, found in ((1, False, False), (1, True, True), (3, True, True),
                                 (0, True, False)):
        training, backwards = Training(7, every > 0), 7
        for number in range(60):
            backwards += every > 0 and number % every == 0
            assert not training.skips(backwards, False)
        skips = [training.skips(backwards, beyond) for _ in range(every + IDLE)]
        assert any(skips) == found and not any(skips[:IDLE - 1]), (every, beyond)
    training = Training(0, True)  # gradients of 32 batches are added up, over the end of an epoch
    assert not any(training.skips(1 + number // 32, number >= 60) for number in range(200))
    training = Training(0, True, reads_ahead=True)  # a thread fills a queue, and then stays away
    assert [training.skips(0, True) for _ in range(TOGETHER)] == [False] * (TOGETHER - 1) + [True]


def guard_devices():
    """What is known of a device that is none of ours."""
    from dsa_driver import AWAITED, CAPTURED, NO_DEVICES, UNAWAITED, still

    def fails(why):
        raise RuntimeError(why)

    cuda, had, found = torch.cuda, vars(torch).get("xpu"), [still()]
    for waits, xpu in ((lambda: None, False), (lambda: fails("no such device"), False),
                       (lambda: fails("operation not permitted when stream is capturing"), False),
                       (lambda: None, True)):
        one = types.SimpleNamespace(is_initialized=lambda: True, synchronize=waits,
                                    is_current_stream_capturing=lambda: False)
        if xpu:
            del one.is_current_stream_capturing
            torch.xpu, torch.cuda = one, cuda
        else:
            torch.cuda = one
        found.append(still())
    del torch.xpu
    if had is not None:
        torch.xpu = had
    sys.modules["torch_xla"] = types
    found.append(still())
    assert found == [NO_DEVICES, AWAITED, UNAWAITED, CAPTURED, AWAITED, UNAWAITED], found


def guard_patience(hook):
    """Waiting for a backward() ends, but not while the program validates before it trains."""
    import dsa_hook
    hook.torch, hook.observes, dsa_hook.PATIENCE_S = torch, 0, 0
    it = types.SimpleNamespace(_dsa_steps=1, _dsa_backwards=0, _dsa_driven=0)
    weight = torch.nn.Parameter(torch.zeros(()))
    assert not hook.is_to_drive(it)
    with torch.no_grad():
        assert not dsa_hook.has_optimizer(torch.optim.Optimizer)
        torch.optim.AdamW([weight])
        assert not hook.is_to_drive(it) and not hook.is_to_drive(it)
    assert hook.is_to_drive(it)


class Stuck:
    """An iterator with a worker that gives nothing, and another one that gives all it gets."""

    def __init__(self):
        self._num_workers = self._prefetch_factor = self._send_idx = 2
        self._task_info, self._workers_status = {0: (0,), 1: (0,)}, [True, True]
        self._tasks_outstanding, self._rcvd_idx, self.made = 2, 0, []

    def _try_put_index(self):
        assert self._workers_status == [False, True]
        self.made.append(self._send_idx)
        self._task_info[self._send_idx] = (1,)
        self._send_idx += 1
        self._tasks_outstanding += 1

    def _try_get_data(self, _):
        if not self.made:
            return False, None
        self._tasks_outstanding -= 1
        index = self.made.pop()
        self._task_info[index] += (None,)
        return True, (index, None)


def guard_waiting():
    """A worker that waits is waited for, but not for ever, nor does the other one make ever more."""
    import dsa_loading
    from dsa_batches import Stream
    from dsa_driver import Unmeasured
    dsa_loading.SILENCE_NS, dsa_loading.HELPED_NS = 0, 10**9
    it, stream, told = Stuck(), Stream([], iter([])), []
    dsa_loading.Helped(it, stream, types.SimpleNamespace(outside=told.append)).begin()
    for _ in range(20):
        it._try_get_data(.01)
    assert not told and it._send_idx == 2 + 4 and it._workers_status == [True, True]
    for _ in range(4):
        it._try_put_index()
    assert it._send_idx == 2 + 4
    stream.shut = True
    try:
        while True:
            it._try_get_data(.01)
    except Unmeasured:
        assert stream.shut and it._send_idx > 2 + 4
    dsa_loading.Helped.end(it)
    assert not it.made and it._try_get_data(0) == (False, None)


class Generates(torch.utils.data.DataLoader):
    """A loader whose iterator is none of torch's, and takes no attribute."""

    def _get_iterator(self):
        return (i for i in range(3))


class LateProcess(multiprocessing.context.ForkProcess):
    """That takes .1 s to start."""

    def start(self):
        time.sleep(.1)
        super().start()


class Late(multiprocessing.context.ForkContext):
    Process = LateProcess


def guard_loaders(make_hook):
    """Iterators that are not what torch's are, and a hook that fails in the middle."""
    from dsa_batches import Stream
    from dsa_hook import patch_iterator
    told = []
    library = types.SimpleNamespace(refuse=told.append, cut=lambda other: None, left=lambda: 0,
                                    stopped=lambda: 0, observes=lambda: 0)
    module = torch.utils.data.dataloader
    hook = make_hook(module, library, lambda it: "plain")
    stream = Stream([], iter([[1, 2]]))
    next(stream)
    it = types.SimpleNamespace(_dsa_loader=lambda: it, _sampler_iter=stream, _dsa_steps=1)
    hook.inside = True  # of another thread
    assert hook.next(it) == "plain" and not stream.given
    hook.inside, hook.loading = False, types.SimpleNamespace(asked=None)
    hook.loader = it._dsa_loader
    assert hook.next(it) == "plain" and hook.off and b"no attribute" in told[0], told
    hook = make_hook(module, library, module._BaseDataLoaderIter.__next__)
    patch_iterator(hook, module)
    assert list(Generates([1])) == [0, 1, 2]
    library.outside = lambda: told.append("outside")
    del told[:]
    assert iter(loader_of([1])) is not None and not told  # none drives yet
    hook.loading = types.SimpleNamespace()
    iter(loader_of([1]))
    assert len(told) == 1, told
    it = module._SingleProcessDataLoaderIter(Bare([[1]], 0))
    assert told == 2 * ["outside"] and it._dsa_loads[0] == [[1]] and it._dsa_start_ns > 0, told
    assert iter(loader_of([1], num_workers=1, multiprocessing_context=Late()))._dsa_start_ns > 1e8
    hook.driver.ended = True
    assert not list(it)
    guard_thread(make_hook(torch, library, None))
    guard_singles(make_hook(torch, library, None), told)


def guard_singles(hook, told):
    """A program that begins the loader anew for each batch is told so; not one that also loops,
    or what yields these is watched."""
    import dsa_library
    from dsa_driver import guarded
    from dsa_hook import SINGLES
    loaders = Length(), Length()
    del told[:]
    it = types.SimpleNamespace(_dsa_loader=weakref.ref(loaders[0]), _dsa_steps=0)
    hook.backwards, dsa_library.watching = SINGLES, True
    for _ in range(2 * SINGLES):
        guarded(hook, hook.count_single, it)
    hook.backwards, dsa_library.watching = 0, None
    assert not hook.off
    for number in range(2 * SINGLES + 1):
        for loader in loaders:
            it = types.SimpleNamespace(_dsa_loader=weakref.ref(loader), _dsa_steps=0)
            guarded(hook, hook.count_single, it)
            it._dsa_steps = 1
            if number == SINGLES - 1:
                guarded(hook, hook.count_single, it)
        hook.backwards += 1
        assert hook.off == (number == 2 * SINGLES), number
    assert len(told) == 1 and b"next(iter(loader))" in told[0] and len(told[0]) < 160, told


def guard_thread(hook):
    """Which thread trains, and that it is not the one that asks."""
    from dsa_training import FILLS_NS, Training, patch_backward
    stream = types.SimpleNamespace(most=1, whole=False)
    it = types.SimpleNamespace(_dsa_loads=([1], 1, True), _num_workers=0, _sampler_iter=stream,
                               _dataset_kind=0, _index_sampler=[])
    patch_backward(hook)
    hook.by_backward, hook.trains_in = True, threading.get_ident()
    hook.training = Training(0, True)
    assert [hook.takes_more(at) for at in (0, 0, FILLS_NS)] == [False, True, True]
    thread = threading.Thread(target=torch.ones(1, requires_grad=True).sum().backward)
    thread.start()
    thread.join()
    assert hook.about(it).apart == 1
    hook.training.is_awaited = True
    assert hook.about(it).apart == 2
    hook.training.is_awaited = False
    guard_queue()
    assert [hook.takes_more(at) for at in (0, 0, FILLS_NS)] == [False, True, False]  # it fills
    torch.ones(1, requires_grad=True).sum().backward()
    assert hook.about(it).apart == 0
    hook.training_now = True  # one inside another
    thread = threading.Thread(target=torch.ones(1, requires_grad=True).sum().backward)
    thread.start()
    thread.join()
    hook.training_now = False
    assert hook.about(it).apart == 0
    training = Training(3, True, 100, True)
    assert [training.passes(backwards, 100 + backwards) for backwards in (5, 5, 8)] == \
        [(2, 5), (0, 0), (3, 3)]
    guard_end(hook)


def guard_queue():
    """What the thread that trains waits for in one counts, while it does, too."""
    from dsa_training import Training, gets_of, patch_queue, waited_ns
    assert Training(0, True, 0, True, True).is_awaited
    assert not Training(0, True, 0, False, True).is_awaited
    thread, filled, seen = threading.get_ident(), queue.Queue(), []
    patch_queue()
    before = gets_of(thread)

    def fill():
        while not filled.not_empty._waiters:
            time.sleep(.001)
        seen.extend((gets_of(thread) - before, waited_ns(thread)))
        filled.put(1)
    threading.Thread(target=fill).start()
    assert filled.get() == 1
    gets, waited = seen
    assert gets == 1 and waited > 0
    assert Training(0, True, 0, True, True).blocked(thread, 0, waited) > 0
    assert Training(0, True, 0, True, True).blocked(thread, 0, 2**63) == 0
    assert Training(0, True).blocked(thread, time.monotonic_ns() - 10**9, 0) >= 10**9
    for words, count in (({"block": False}, 1), ({"timeout": .001}, 2)):
        with contextlib.suppress(queue.Empty):
            filled.get(**words)
        assert gets_of(thread) - before == count, words


def guard_end(hook):
    """A main thread that waits for the one that asks ends before anything comes from there."""
    waits, came, hook.is_apart = queue.Queue(), [], True
    torch.ones(1, requires_grad=True).sum().backward()
    late = threading.Timer(5, lambda: (came.append(1), waits.put(1)))
    late.start()

    def end():
        while not waits.not_empty._waiters:
            time.sleep(.01)
        hook.driver.end()
    try:
        threading.Thread(target=end).start()
        waits.get()
    except SystemExit:
        assert not came
    else:
        raise AssertionError("it goes on")
    finally:
        late.cancel()
    assert not hook.is_apart


def guard_pinned(pool):
    """What was pinned is again. Without a device no memory is: what torch is asked for."""
    plain, pinned = (torch.Tensor.is_pinned, torch.Tensor.pin_memory), []
    mine = torch.ones(2)
    torch.Tensor.is_pinned = lambda tensor: tensor is mine
    torch.Tensor.pin_memory = lambda tensor: pinned.append(tensor) or tensor
    pool.add([mine, torch.ones(2)], 2)
    torch.Tensor.is_pinned, torch.Tensor.pin_memory = plain
    assert len(pinned) == 1 and pinned[0] is not mine and pinned[0].equal(mine)


if __name__ == "__main__":
    main()
