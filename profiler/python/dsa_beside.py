"""Loaders that give a batch in each step, too, beside the one that drives, as in
zip(labelled, unlabelled): brought into the same windows, so that a step waits for all of them,
or for none."""

import threading
import time

from dsa_batches import POOL_LEAST
from dsa_driver import OWN_EPOCHS, copied
from dsa_fetch import key_of_iterator
from dsa_loading import POOL, POOLED, STREAM, Loading, length_of
from dsa_transforms import is_like

MIXED = 16  # steps in a row
ALONE = 16  # batches

now = time.monotonic_ns


class Mixed:
    """Steps in a row in which other loaders gave batches, too, and which did."""

    def __init__(self):
        self.now, self.steps = {}, []

    def gave(self, loader):
        """In the step under way. The reference may be of one that is gone, and no key."""
        self.now[id(loader)] = loader, threading.get_ident()

    def step(self, drives):
        """The next one begins. Others than the one that drives, asked by this thread, that gave a
        batch in half of as many steps as it takes to tell; None: there were not so many."""
        steps = self.steps
        steps.append(self.now)
        del steps[:-MIXED if self.now else None]
        self.now = {}
        if len(steps) < MIXED:
            return None
        seen = {key: one for step in steps for key, one in step.items()}
        return [one for key, (one, thread) in seen.items()
                if one is not drives and thread == threading.get_ident() and
                2 * sum(key in step for step in steps) >= MIXED]


class Beside(Loading):
    """One of them. What it does follows the one that drives."""

    def __init__(self, first, loader, number):
        super().__init__(first.module, first.next_of, first.library, first.observes)
        self.first, self.loader, self.number = first, loader, number
        self.loads = None  # its data set and batch
        self.length = 0  # batches of its epoch
        self.driven = self.alone = 0

    def succeeds(self, it):
        """True where the program made its loader anew, and that is none like the one that
        drives."""
        if self.loader() is not None or self.loads is None or self.loads[1:] != it._dsa_loads[1:]:
            return False
        dataset, drives = it._dsa_loads[0], self.first.asked[0]._dsa_loads[0]
        if dataset is drives or not (dataset is self.loads[0] or
                                     is_like(dataset, self.loads[0]) and
                                     not is_like(dataset, drives)):
            return False
        self.loader = it._dsa_loader
        return True

    def count_those_of(self, it):
        self.library.loader_beside(self.number, key_of_iterator(it))

    def has(self, it):
        return self.asked == (it, it._sampler_iter)

    def follow(self, it):
        """The program began another epoch of it."""
        self.loads, self.length = it._dsa_loads, length_of(it)
        pooled = not self.observes and self.first.source in POOLED
        if pooled and not it._sampler_iter.renews:
            self.rest(it)  # before what it makes counts
        self.take_over(it, it)
        if self.observes:
            return
        self.prolong()
        if pooled:
            self.drain()
            if not self.pool.masters:
                self.fill(POOL_LEAST)
            self.source = POOL

    def prolong(self):
        self.stream.endless = lambda: not self.library.left()

    def count_alone(self, driven):
        """Batches in a row, while the one that drives has made so many steps: of many it is read
        alone, and gives its own to their end."""
        self.alone = self.alone + 1 if driven == self.driven else 0
        self.driven = driven
        if self.observes:
            return
        if self.alone == 0:
            self.prolong()
        elif self.alone == ALONE:
            self.let_go(self.asked[0])
            self.source = STREAM
        if self.alone >= ALONE:
            self.library.outside()

    def give(self, it):
        """The iterator's next batch, or a copy in its place."""
        library, began = self.library, now()
        if not self.has(it):
            library.outside()
            self.follow(it)
        self.count_alone(it._dsa_driven)
        try:
            if OWN_EPOCHS and not self.observes and 0 < self.length <= it._dsa_steps:
                raise StopIteration
            batch, _ = copied(self.pool.give) if self.source in POOLED else self.next()
        except BaseException:
            library.outside()
            raise
        library.waited(now() - began)
        it._dsa_steps += 1
        return batch


class Together:
    """The loader that drives, and those beside it: what struct hook_calls asks for, all of them
    do."""

    def __init__(self, first):
        self.first, self.beside = first, []
        self.number = 0  # of the next one

    def join(self, loaders):
        """References to more of them. How many there are now."""
        self.beside = [one for one in self.beside if one.loader() is not None]
        for loader in loaders:
            self.beside.append(Beside(self.first, loader, self.number))
            self.number += 1
        return len(self.beside)

    def of(self, it):
        """The one of that iterator; None: it is of another loader."""
        own = [one for one in self.beside if one.loader is it._dsa_loader]
        own = own or [one for one in self.beside if one.succeeds(it)]
        return own[0] if own else None

    def begun(self):
        return [one for one in self.beside if one.it is not None]

    def drain(self):
        for one in (self.first, *self.begun()):
            one.drain()

    def list(self, batches):
        if not self.beside:
            return self.first.list(batches)
        for one in (self.first, *self.begun()):
            one.pool.clear()
            one.fill(batches)
        return 0

    def start(self, source):
        for one in (self.first, *self.begun()):
            one.start(source)

    def count(self, samples):
        self.first.count(samples)

    def make(self, workers, ns):
        return self.first.make(workers, ns)

    def let_end(self):
        for one in (self.first, *self.begun()):
            one.let_end()

    def let_go(self):
        """The program goes on with those beside as without dsa, from where windows have left
        them."""
        for one in self.begun():
            one.let_go(one.asked[0])
