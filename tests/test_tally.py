"""Laws of the tally: exact counts, whatever the order, and nothing half-added."""

from __future__ import annotations

import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ostraka.auxiliary import AuxiliarySet
from ostraka.ballot import Ballot
from ostraka.errors import FormatError, InputError, OtherAuxiliarySetError, ParameterError, ShapeError, TooFewPartiesError
from ostraka.tally import Tally

SETS = {n_classes: AuxiliarySet(np.zeros((4, 1)), tuple(range(n_classes))) for n_classes in (2, 3, 6, 7, 300)}
THREE = SETS[3]
STREAMED = [AuxiliarySet(np.zeros((5, 1)), tuple(range(n_classes))) for n_classes in (2, 3)]


def ballot(votes, auxiliary=THREE) -> Ballot:
    return Ballot(np.asarray(votes), auxiliary.n_classes, auxiliary.digest)


def tally_of(auxiliary, *votes) -> Tally:
    tally = Tally(auxiliary)
    for each in votes:
        tally.add(ballot(each, auxiliary))
    return tally


@st.composite
def polls(draw):
    auxiliary = SETS[draw(st.sampled_from(sorted(SETS)))]
    votes = st.lists(st.integers(0, auxiliary.n_classes - 1), min_size=4, max_size=4)
    return auxiliary, draw(st.lists(votes, min_size=1, max_size=8))


class TestCounting:
    @given(polls())
    def test_counts_are_the_sum_of_the_one_hot_ballots(self, poll):
        auxiliary, all_votes = poll
        tally = tally_of(auxiliary, *all_votes)
        expected = sum(np.eye(auxiliary.n_classes, dtype=np.int64)[votes] for votes in all_votes)
        np.testing.assert_array_equal(tally.counts, expected)
        assert tally.counts.dtype == np.int64
        assert tally.n_parties == len(all_votes)
        np.testing.assert_array_equal(tally.counts.sum(axis=1), tally.n_parties)

    @given(polls(), st.randoms(use_true_random=False))
    def test_the_order_does_not_matter(self, poll, random):
        auxiliary, all_votes = poll
        shuffled = list(all_votes)
        random.shuffle(shuffled)
        np.testing.assert_array_equal(tally_of(auxiliary, *all_votes).counts, tally_of(auxiliary, *shuffled).counts)

    @given(polls())
    def test_counts_of_many_ballots_are_added_like_the_ballots(self, poll):
        auxiliary, all_votes = poll
        one_by_one, together = tally_of(auxiliary, *all_votes), tally_of(auxiliary, all_votes[0])
        one_by_one.add(ballot(all_votes[0], auxiliary))
        together.add_counts(tally_of(auxiliary, *all_votes).counts, len(all_votes))
        np.testing.assert_array_equal(one_by_one.counts, together.counts)
        assert one_by_one.n_parties == together.n_parties

    @given(polls(), st.data())
    def test_replacing_one_ballot_moves_at_most_one_up_and_one_down(self, poll, data):
        auxiliary, all_votes = poll
        replaced = [
            data.draw(st.lists(st.integers(0, auxiliary.n_classes - 1), min_size=4, max_size=4)),
            *all_votes[1:],
        ]
        change = tally_of(auxiliary, *all_votes).counts - tally_of(auxiliary, *replaced).counts
        assert np.abs(change).sum(axis=1).max() <= 2
        assert np.abs(change).max() <= 1

    @pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32, np.uint64])
    def test_counts_of_any_integer_type(self, dtype):
        tally = Tally(THREE)
        tally.add_counts(np.full((4, 3), 100, dtype=dtype), 300)
        assert tally.n_parties == 300
        assert tally.counts.tolist() == [[100] * 3] * 4

    def test_counts_are_a_read_only_view(self):
        tally = tally_of(THREE, [0, 1, 2, 0])
        counts = tally.counts
        with pytest.raises(ValueError, match=r"read-only"):
            counts[0, 0] = 9
        tally.add(ballot([0, 0, 0, 0]))
        assert tally.counts[0, 0] == 2

    def test_memory_does_not_depend_on_the_number_of_parties(self):
        tally = tally_of(THREE, *([[0, 1, 2, 0]] * 1000))
        assert tally.counts.nbytes == Tally(THREE).counts.nbytes

    def test_repr_shows_sizes_only(self):
        assert repr(tally_of(THREE, [0, 1, 2, 0])) == "Tally(n_parties=1, n_samples=4, n_classes=3)"


class TestSharesAndMajority:
    def test_shares_are_counts_divided_by_parties(self):
        shares = tally_of(THREE, [0, 1, 2, 0], [0, 2, 2, 1], [0, 0, 1, 1]).shares()
        np.testing.assert_array_equal(shares * 3, [[3, 0, 0], [1, 1, 1], [0, 1, 2], [1, 2, 0]])
        assert shares.dtype == np.float64
        assert shares.flags.c_contiguous

    @given(polls())
    def test_shares_lie_in_the_simplex(self, poll):
        auxiliary, all_votes = poll
        shares = tally_of(auxiliary, *all_votes).shares()
        assert shares.min() >= 0
        assert np.abs(shares.sum(axis=1) - 1).max() <= auxiliary.n_classes * 2.0**-52

    def test_the_lowest_index_wins_among_equals(self):
        assert tally_of(THREE, [1, 2, 0, 2], [2, 1, 2, 2]).majority().tolist() == [1, 1, 0, 2]

    def test_of_two_classes_the_second_wins_among_equals(self):
        assert tally_of(SETS[2], [0, 1, 0, 1], [1, 0, 0, 1]).majority().tolist() == [1, 1, 0, 1]

    @given(polls())
    def test_no_class_has_more_votes_than_the_majority(self, poll):
        tally = tally_of(poll[0], *poll[1])
        chosen = tally.counts[np.arange(4), tally.majority()]
        assert np.all(chosen == tally.counts.max(axis=1))

    def test_nobody_has_neither(self):
        for ask in (Tally(THREE).shares, Tally(THREE).majority):
            with pytest.raises(TooFewPartiesError, match=r"0 parties have contributed, but at least 1 are needed"):
                ask()


class TestRefusals:
    """Whatever is refused, the tally stays as it was."""

    @pytest.fixture
    def tally(self):
        tally = tally_of(THREE, [0, 1, 2, 0])
        before = tally.counts.copy()
        yield tally
        np.testing.assert_array_equal(tally.counts, before)
        assert tally.n_parties == 1

    def test_ballots_of_another_auxiliary_set(self, tally):
        other = AuxiliarySet(np.ones((4, 1)), (0, 1, 2))
        with pytest.raises(
            OtherAuxiliarySetError,
            match=rf"cast on the auxiliary set {other.digest[:12]}..., but the tally is of {THREE.digest[:12]}...",
        ):
            tally.add(ballot([0, 0, 0, 0], other))

    def test_forged_ballots_with_another_number_of_votes(self, tally):
        with pytest.raises(ShapeError, match=r"The ballot: the shape is \(3,\). Allowed: 4 votes"):
            tally.add(Ballot([0, 0, 0], 3, THREE.digest))

    def test_forged_ballots_with_another_number_of_classes(self, tally):
        with pytest.raises(ParameterError, match=r"n_classes of the ballot = 4 is not allowed. Allowed: 3"):
            tally.add(Ballot([0, 0, 0, 3], 4, THREE.digest))

    @pytest.mark.parametrize(
        ("counts", "n_ballots", "error", "text"),
        [
            (np.ones((3, 3), dtype=int), 3, ShapeError, r"counts: the shape is \(3, 3\). Allowed: \(4, 3\)"),
            (np.ones((4, 3)), 3, InputError, "counts are of type float64. Give integers"),
            (np.ones((4, 3), dtype=bool), 3, InputError, "counts are of type bool"),
            (np.tile([4, -1, 0], (4, 1)), 3, InputError, "counts run from -1 to 4. Allowed: 0 to 3"),
            (np.tile([0, 0, 2], (4, 1)), 3, InputError, "counts of sample 0 sum to 2, but 3 ballots were cast"),
            (np.full((4, 3), 2**63, dtype=np.uint64), 3, InputError, "Allowed: 0 to 3, the ballots"),
            (np.zeros((4, 3), dtype=int), 0, ParameterError, "n_ballots = 0 is not allowed"),
            (np.ones((4, 3), dtype=int), math.nan, ParameterError, "n_ballots = nan is not allowed"),
            (np.ones((4, 3), dtype=int), 2**41, ParameterError, "n_ballots = .* is not allowed"),
        ],
    )
    def test_counts_that_no_ballots_have(self, tally, counts, n_ballots, error, text):
        with pytest.raises(error, match=text):
            tally.add_counts(counts, n_ballots)


class TestStreams:
    @pytest.mark.parametrize("auxiliary", STREAMED)
    @pytest.mark.parametrize("n_ballots", [0, 1, 254, 255, 256, 600])
    def test_a_stream_gives_the_counts_of_its_ballots(self, auxiliary, n_ballots):
        generator = np.random.default_rng(n_ballots)
        ballots = [
            Ballot(generator.integers(0, auxiliary.n_classes, auxiliary.n_samples), auxiliary.n_classes, auxiliary.digest)
            for _ in range(n_ballots)
        ]
        one_by_one, streamed = Tally(auxiliary), Tally(auxiliary)
        for each in ballots:
            one_by_one.add(each)
        if ballots:
            streamed.add(ballots[0])
        assert streamed.add_stream(io.BytesIO(b"".join(each.to_bytes() for each in ballots[1:]))) == max(0, n_ballots - 1)
        assert np.array_equal(streamed.counts, one_by_one.counts)
        assert streamed.n_parties == n_ballots

    @pytest.mark.parametrize("auxiliary", STREAMED)
    def test_what_is_no_ballot_is_refused_with_its_place(self, auxiliary):
        good = Ballot(np.zeros(auxiliary.n_samples, dtype=int), auxiliary.n_classes, auxiliary.digest).to_bytes()
        other = Ballot(np.zeros(auxiliary.n_samples, dtype=int), auxiliary.n_classes, "0" * 64).to_bytes()
        unused = good[:-1] + bytes([good[-1] | 0x80])
        for bad, kind in (
            (good[:-1], FormatError),
            (b"x" * len(good), FormatError),
            (unused, FormatError),
            (other, FormatError),
        ):
            tally = Tally(auxiliary)
            with pytest.raises(kind):
                tally.add_stream(io.BytesIO(good + bad + good))
            assert tally.n_parties == 0, "all of a block, or none"
            with pytest.raises(FormatError, match="number 1 "):
                tally.add_stream(io.BytesIO(good + bad))

    def test_a_pipe_may_give_less_at_a_time(self):
        class Slow(io.BytesIO):
            def read(self, size=-1):
                return super().read(min(size, 7))

        ballots = b"".join(ballot([0, 1, 2, 0]).to_bytes() for _ in range(300))
        tally = Tally(THREE)
        assert tally.add_stream(Slow(ballots)) == 300
        assert tally.counts[1, 1] == 300
