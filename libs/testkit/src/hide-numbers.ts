import type { Mailbox } from '@gateway/simulator/accounts/mailbox';

/** From now on the network does not tell a device the numbers of people who write under their hidden identifier. Returns what makes it tell them again. */
export function hideNumbers(mailbox: Mailbox): () => void {
  const post = mailbox.post.bind(mailbox);
  mailbox.post = (stanza) => {
    const { sender_pn: _, ...attrs } = stanza.attrs;
    post({ ...stanza, attrs });
  };
  return () => {
    mailbox.post = post;
  };
}
