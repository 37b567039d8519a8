"""What a program does with the batches that it asks for."""

IDLE = 8  # batches in a row without a backward, beyond the end of an epoch


class Training:
    """Some programs count their batches, and skip those beyond the end of their epoch."""

    def __init__(self, backwards, trained):
        self.backwards = backwards  # so far
        self.idle = 0 if trained else None  # batches since the last one; None: none came
        self.usual = 0  # the most of them within an epoch

    def skips(self, backwards, beyond):
        """It asks for the next batch, which lies `beyond` the end."""
        if self.idle is not None:
            self.idle += 1
        if backwards > self.backwards:
            self.usual = max(self.usual, self.idle or 0)
            self.backwards, self.idle = backwards, 0
        if not beyond:
            self.usual = max(self.usual, self.idle or 0)
        return beyond and self.idle is not None and self.idle >= self.usual + IDLE


class Lead:
    """How far a thread that asks for batches is ahead of the one that trains: further and
    further while it takes more than backward() runs."""

    STEADY = 8  # steps

    def __init__(self):
        self.ran, self.starts = [], 0  # at each of the last steps

    def grows(self, backwards, starts):
        """So many ran, and so many windows began."""
        if starts != self.starts:
            self.ran, self.starts = [], starts
        self.ran.append(backwards)
        del self.ran[:-self.STEADY - 1]
        return len(self.ran) <= self.STEADY or backwards - self.ran[0] < self.STEADY
