"""The chunks of a base file as items."""

import struct

import pytest

from evalflow.dataset.protocol import collect
from evalflow.dataset.token_chunks import TokenChunks
from evalflow.errors import DataError

WHOLE = b"_logits_" + struct.pack("<iii", 4, 300, 2) + struct.pack("<8i", 1, 20, 299, 0, 4, 5, 6, 7) + bytes(2 * 608)
"""Two chunks of 4 tokens over 300, each with a row of 8 + 2 x 300 bytes."""


def test_a_chunk_is_an_item(tmp_path):
    """Its prompt is its tokens' ids, which it has as numbers too; it is a cluster of its own."""
    (tmp_path / "a.base").write_bytes(WHOLE)
    first, second = collect(TokenChunks(str(tmp_path / "a.base")))
    assert (first.id, first.prompt, first.cluster) == ("chunk 0001", "1 20 299 0", "chunk 0001")
    assert (second.id, second.fields["tokens"]) == ("chunk 0002", [4, 5, 6, 7])
    assert TokenChunks("x").name == "base_file"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "cannot be read .No such file or directory.; give a base file"),
        (b"text", "no base file of llama.cpp"),
        (WHOLE[:-1], "ends after 1 of 2 chunks"),
        (WHOLE[:20] + struct.pack("<i", 300) + WHOLE[24:], "chunk 0001 has token 300 at 0, of a vocabulary of 300"),
    ],
)
def test_what_is_no_base_file_is_refused(tmp_path, content, said):
    """One line: which file, what is wrong, what to do."""
    path = tmp_path / "a.base"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=said) as refused:
        TokenChunks(str(path)).items()
    assert str(path) in str(refused.value) and "\n" not in str(refused.value)
