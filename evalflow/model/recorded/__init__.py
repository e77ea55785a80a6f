"""Recorded logits where a model would stand: files, llama.cpp's base file, and a stream from another program.

Rows of one text lie in a file of their own, of one of three kinds. Row r expects the text's token `first` + r.

    X.npy          `logits` (N, V) alone: float16, float32 or float64
    X.npz          arrays by name, saved by numpy.savez (not compressed)
    X.safetensors  arrays by the same names, bfloat16 logits too; texts are metadata
      logits       (N, V)
      tokens       (T,)  the text's token ids, no beginning-of-text token among them; N is T - first, or one more
      starts       (T,)  where each begins in the text (characters)
      first        ()    1 where it is missing; 0 where a beginning-of-text token stood in front
      text_sha256  text  of the UTF-8 text

Several texts lie in a folder of such files, `ID.npz` and so on, the id percent-escaped; or in one file, whose `logits`
are those of all texts one after another:

      items          the ids of I texts: an array of texts, or in the metadata a JSON list
      offsets        (I + 1,)  text i has the rows offsets[i] to offsets[i + 1]
      token_offsets  (I + 1,)  and the tokens token_offsets[i] to token_offsets[i + 1], where there are `tokens`
      first          () or (I,)

What `Recorder` writes is a folder of windows: `recording.json` (whose logits they are), and for each text a folder
`texts/ID` with `text.npz` (tokens, starts, text_sha256) and a file `POSITION.npz` per window: `logits` (N, V), the
`tokens` (W,) that the model saw, `first` (which of them is the first that a row expects), and `bos`.

Or a base file, and beside it `NAME.json`: whose it is, its `texts` in order (`id`, `chunks`), and where a walk was cut
short within texts the ids of these `unfinished`, which are not in it. `NAME.spool` is there for as long as a chunk is
in no file yet: put nothing in it.
"""
