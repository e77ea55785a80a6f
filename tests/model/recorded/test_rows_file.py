"""Which rows belong to which token of which text, in each layout, and what is refused."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from evalflow.errors import ModelError
from evalflow.model.recorded.rows_file import file_name, open_recording
from evalflow.model.recorded.text import text_digest
from tests.model.recorded.by_hand import TOKENS, logits_of, window

ROWS = logits_of(len(TOKENS))
"""Row r follows token r, hence expects token r + 1; the last one expects what no text has."""


def save(path, **arrays):
    np.savez(path, **arrays)
    return path


@pytest.mark.parametrize("n_rows", [7, 8])
def test_a_row_expects_the_token_after_it(tmp_path, n_rows):
    """Of a text of 8 tokens, rows for tokens 1 to 7 suffice; one for the token after the text may be there."""
    recording = open_recording(save(tmp_path / "a.npz", logits=ROWS[:n_rows], tokens=TOKENS))
    assert (recording.width, recording.own_tokens, recording.about) == (10, True, {})
    text = recording.text("a")
    assert text.encoded("whatever").tokens.tolist() == TOKENS
    assert text.encoded("whatever").starts.tolist() == [-1] * 8
    assert (text.rows(window("a", TOKENS)) == ROWS[:7]).all()
    assert (text.rows(window("a", TOKENS[2:5], first=1, position=3)) == ROWS[2:4]).all()


def test_with_a_token_in_front_the_first_row_expects_the_first_token(tmp_path):
    """`first` says so: 0 where a beginning-of-text token stood before the text."""
    rows = logits_of(8, seed=4)
    text = open_recording(save(tmp_path / "a.npz", logits=rows, tokens=TOKENS, first=0)).text("a")
    assert (text.rows(window("a", [99, *TOKENS], first=1, position=0, bos=True)) == rows).all()
    assert (text.rows(window("a", [99, *TOKENS[3:6]], first=2, position=4, bos=True)) == rows[4:6]).all()


def test_bare_rows_stand_for_the_one_text_that_is_asked_for(tmp_path):
    """A `.npy` has no tokens and no ids: its rows are the first item's, and a second item is refused."""
    np.save(tmp_path / "a.npy", ROWS)
    recording = open_recording(tmp_path / "a.npy")
    assert not recording.own_tokens
    assert (recording.text("one").rows(window("one", TOKENS)) == ROWS[:7]).all()
    assert recording.text("one").rows(window("one", TOKENS)).shape == (7, 10)
    with pytest.raises(ModelError, match="holds one text, and is asked for 'two' after 'one'; give it items"):
        recording.text("two")
    with pytest.raises(ModelError, match="it has no tokens; let the other arm"):
        recording.text("one").encoded("text")


@pytest.mark.parametrize("ending", ["npz", "safetensors"])
def test_several_texts_of_one_file(tmp_path, ending):
    """Each has its own rows, tokens and starts; ids are an array, or a list in the metadata."""
    offsets, token_offsets = np.array([0, 3, 7]), np.array([0, 4, 9])
    tokens, starts = np.arange(9), np.array([0, 1, 2, 3, 0, 2, 4, 6, 8])
    parts = {"logits": ROWS[:7], "tokens": tokens, "starts": starts}
    parts |= {"offsets": offsets, "token_offsets": token_offsets}
    if ending == "npz":
        np.savez(tmp_path / "all.npz", items=["a/1", "b"], **parts)
    else:
        save_file(parts, tmp_path / "all.safetensors", {"items": json.dumps(["a/1", "b"])})
    recording = open_recording(tmp_path / f"all.{ending}")
    assert recording.text("b").encoded("").tokens.tolist() == [4, 5, 6, 7, 8]
    assert recording.text("b").encoded("").starts.tolist() == [0, 2, 4, 6, 8]
    assert (recording.text("b").rows(window("b", [4, 5, 6, 7, 8])) == ROWS[3:7]).all()
    assert (recording.text("a/1").rows(window("a/1", [0, 1, 2, 3])) == ROWS[0:3]).all()
    with pytest.raises(ModelError, match="item 'c': it was not recorded; record it, or leave it out"):
        recording.text("c")


def test_a_folder_has_a_file_for_each_text(tmp_path):
    """Called after its id, whatever characters are in that, and of any of the three kinds."""
    save(tmp_path / "a%2F1 b.npz", logits=ROWS[:7], tokens=TOKENS)
    np.save(tmp_path / "%2Ehidden.npy", ROWS[:2])
    save_file({"logits": ROWS[:3]}, tmp_path / "%C3%A9.safetensors")
    recording = open_recording(tmp_path)
    assert recording.text("a/1 b").encoded("").tokens.tolist() == TOKENS
    assert len(recording.text(".hidden").rows(window(".hidden", [1, 2, 3]))) == 2
    assert len(recording.text("é").rows(window("é", [1, 2, 3, 4]))) == 3
    with pytest.raises(ModelError, match="item 'other': it was not recorded"):
        recording.text("other")


@pytest.mark.parametrize("item_id", ["a", "a/b", "..", ".", "Ünï çode", "a%b", "\udc80", "con:aux"])
def test_ids_as_names_of_files(item_id):
    """No id leaves its folder or is hidden, and no two share a name."""
    name = file_name(item_id)
    assert "/" not in name and not name.startswith(".") and name.isascii()
    assert file_name(item_id + "/") != file_name(item_id + "%2F")


def test_a_text_that_is_not_the_recorded_one_is_refused(tmp_path):
    """Where the recording has the text's digest; the right text is read."""
    path = save(tmp_path / "a.npz", logits=ROWS, tokens=TOKENS, text_sha256=np.array(text_digest("the text")))
    assert open_recording(path).text("a").encoded("the text").tokens.tolist() == TOKENS
    with pytest.raises(ModelError, match="it was recorded of another text"):
        open_recording(path).text("a").encoded("the text.")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (window("a", [3, 1, 4, 7, 5]), "token 3 is 7, and 1 in the recording"),
        (window("a", [99, 1, 4, 1], bos=False), "token 0 is 99, and 3 in the recording"),
        (window("a", [5, 9, 8], first=1, position=5), "token 6 is 8, and 2 in the recording"),
        (window("a", [*TOKENS, 7]), "token 8 is 7, and its end in the recording"),
        (
            window("a", [99, *TOKENS], first=1, position=0, bos=True),
            "tokens 0 to 7 are asked for, and those for 1 to 8",
        ),
    ],
)
def test_other_tokens_than_the_recorded_are_refused(tmp_path, asked, said):
    """The first position that differs is named, also before the first that is scored."""
    text = open_recording(save(tmp_path / "a.npz", logits=ROWS, tokens=TOKENS)).text("a")
    with pytest.raises(ModelError, match=said) as refused:
        text.rows(asked)
    assert str(tmp_path) in str(refused.value) and "\n" not in str(refused.value)


def test_more_rows_than_there_are_cannot_be_asked_for(tmp_path):
    """Without tokens the number of rows is what tells."""
    np.save(tmp_path / "a.npy", ROWS[:4])
    with pytest.raises(ModelError, match="rows for tokens 1 to 7 are asked for, and those for 1 to 4 are there"):
        open_recording(tmp_path / "a.npy").text("a").rows(window("a", TOKENS))


def test_a_target_beyond_the_rows_is_refused(tmp_path):
    """Its position in the text is named: 10 entries have no token 10."""
    np.save(tmp_path / "a.npy", ROWS)
    with pytest.raises(ModelError, match="token 6 is 10, and a row has 10 entries"):
        open_recording(tmp_path / "a.npy").text("a").rows(window("a", [1, 2, 9, 10], first=1, position=4))


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"tokens": TOKENS[:5]}, "8 rows, the first for token 1, of 5 tokens; give a row for each, and one more"),
        ({"tokens": [*TOKENS, 1, 1]}, "8 rows, the first for token 1, of 10 tokens"),
        ({"first": -1}, "8 rows, the first for token -1, of unknown tokens"),
        ({"first": [1, 1]}, "1 texts and 2 of first; give one, or one for each"),
        ({"items": ["a", "b"]}, "it has 2 items; give it 3 offsets"),
        ({"items": ["a", "b"], "offsets": [0, 8]}, "it has 2 items; give it 3 offsets"),
        ({"items": ["a", "a"], "offsets": [0, 4, 8]}, "one of its items is there twice"),
        ({"items": ["a"], "offsets": [0, 9]}, "it has rows 0 to 9 of 8; mend its offsets"),
        ({"items": ["a"], "offsets": [5, 4]}, "it has rows 5 to 4 of 8; mend its offsets"),
        ({"items": ["a"], "offsets": [0, 8], "tokens": TOKENS}, "it has 1 items; give it 2 token_offsets"),
    ],
)
def test_an_index_that_does_not_fit_is_refused(tmp_path, arrays, said):
    """Counts that contradict one another are damage, not something to guess about."""
    path = save(tmp_path / "a.npz", logits=ROWS, **{name: np.array(array) for name, array in arrays.items()})
    with pytest.raises(ModelError, match=said):
        open_recording(path).text("a")


def test_items_in_the_metadata_must_be_a_list(tmp_path):
    """Anything else is refused."""
    save_file({"logits": ROWS}, tmp_path / "a.safetensors", {"items": "a, b"})
    with pytest.raises(ModelError, match="its items are no JSON list"):
        open_recording(tmp_path / "a.safetensors")


def test_a_folder_that_is_none(tmp_path):
    """An empty one, one with a text twice, and one of two vocabularies are refused."""
    with pytest.raises(ModelError, match="it has no recording; give a folder of files that end in"):
        open_recording(tmp_path)
    np.save(tmp_path / "a.npy", ROWS)
    save(tmp_path / "a.npz", logits=ROWS)
    with pytest.raises(ModelError, match=r"both a[.]npz and a[.]npy are there; keep one"):
        open_recording(tmp_path).text("a")
    np.save(tmp_path / "b.npy", ROWS[:, :9])
    with pytest.raises(ModelError, match="its rows have 9 entries, and other texts' 10"):
        open_recording(tmp_path).text("b")


def test_what_a_recorder_says_must_be_readable(tmp_path):
    """A `recording.json` of another format is no folder of windows."""
    for said in ("{", "[]", '{"format": "evalflow logits 9"}', '{"format": "evalflow logits 1", "scorer": {}}'):
        (tmp_path / "recording.json").write_text(said)
        with pytest.raises(ModelError, match="is not of format 'evalflow logits 1'"):
            open_recording(tmp_path)
