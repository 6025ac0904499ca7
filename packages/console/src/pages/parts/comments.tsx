import { limits } from '@belay/contract/limits';
import type { VNode } from 'preact';
import { texts } from '../../texts.js';
import { type Outputs, to, type View } from '../view.js';
import { isUnsent, PostForm, sent } from './form.js';
import { Avatar } from './people.js';
import { Ago } from './time.js';

type List = Outputs['comments']['list'];

/**
 * Renders the comments on a request and the form to write one. `id`: the id of the execution, or of the approval to which the inbox
 * returns.
 */
export function Comments({ list, id, view }: { list: List; id: string; view: View }): VNode | null {
  const { comments, may } = list;
  if (comments.length === 0 && may.length === 0) return null;
  return (
    <section class="comments" aria-labelledby="comments-head">
      <h2 id="comments-head">{texts.comments.comments}</h2>
      {list.open_question && <p class="badge warn">{texts.comments.openQuestion}</p>}
      {comments.length > 0 && (
        <ol class="timeline">
          {comments.map(({ id: key, kind, text, author, created_at }) => (
            <li key={key}>
              <Avatar name={author.name} small />
              <p>
                <strong>{author.name}</strong> <span class="quiet">{texts.comments.kinds[kind]}</span>{' '}
                <span class="quiet">
                  <Ago at={created_at} view={view} />
                </span>
              </p>
              <p class="remark">{text}</p>
            </li>
          ))}
        </ol>
      )}
      {may.length > 0 && <CommentForm may={may} id={id} view={view} />}
    </section>
  );
}

/** Renders the form to write a comment, with the button of the likeliest kind first. */
function CommentForm({ may, id, view }: { may: List['may']; id: string; view: View }): VNode {
  const kinds = [...may].reverse();
  const action = to(view, 'execution', id, 'comments');
  return (
    <PostForm action={action} view={view} once={view.once()} keeps>
      <div class="field">
        <label for="comment-text">{texts.comments.write}</label>
        <textarea id="comment-text" name="text" required maxLength={limits.remark} rows={2}>
          {isUnsent(view, action) ? sent(view, 'text') : ''}
        </textarea>
      </div>
      <div class="actions">
        {kinds.map((kind) => (
          <button key={kind} type="submit" name="kind" value={kind} class="second">
            {texts.comments.send[kind]}
          </button>
        ))}
      </div>
    </PostForm>
  );
}
